// SPDX-License-Identifier: Apache-2.0
// webhook: changes new objects, in one of several modes (mode.h). With --gate=cluster and
// --gate=local it adds a scheduling gate to pods; the request contains all that it decides on, and
// it calls the API server only with --metrics-address, to ask which users may read its metrics.
// With --known-images it places pods instead whose images are known. With --policies it adds the
// criteria of scheduling policies to pods and pod templates.
#include <gflags/gflags.h>
#include <glog/logging.h>

#include <memory>
#include <optional>
#include <string>

#include "api/names.h"
#include "api/user_agent.h"
#include "api/version.h"
#include "image-facts/webhook/known_images_mode.h"
#include "kube/base/app.h"
#include "kube/base/async.h"
#include "kube/program/program.h"
#include "kube/program/protected_metrics.h"
#include "kube/server/https_server.h"
#include "kube/server/metrics_server.h"
#include "scheduling-policies/webhook/policy_mode.h"
#include "webhook/gate_mode.h"
#include "webhook/mode.h"
#include "webhook/probe.h"
#include "webhook/server.h"

DEFINE_string(operator_namespace, std::string(api::kDefaultOperatorNamespace),
              "The operator's namespace. Nothing in it and in kube-* is changed.");

namespace webhook {
namespace {

constexpr size_t kMaxConnections = 8;

// The modes, by their flags: the first that is chosen.
constexpr ChooseMode kModes[] = {
    policy::ChoosePolicyMode,  // scheduling-policies/
    image_facts::ChooseKnownImagesMode,
    ChooseGateMode,
};

kube::Result<ChosenMode> ModeFromFlags() {
  for (ChooseMode choose : kModes) {
    kube::Result<std::optional<ChosenMode>> chosen = choose(FLAGS_operator_namespace);
    if (!chosen) return chosen.error();
    if (*chosen) return std::move(**chosen);
  }
  return kube::Error::Internal("no mode");
}

kube::Async<> Serve(kube::Program& program) {
  kube::Result<ChosenMode> chosen = ModeFromFlags();
  if (!chosen) co_return chosen.error();
  kube::Result<> done = kube::Ok();
  bool connects = chosen->needs_client || !kube::MetricsServerOptionsFromFlags().address.empty();
  if (connects) {
    done =
        program.Connect({.max_connections = kMaxConnections, .count_calls = chosen->needs_client});
  }
  if (!done) co_return done;

  std::unique_ptr<Mode> mode =
      chosen->open(ModeContext{connects ? &program.client() : nullptr, program.clock(),
                               program.metrics(), program.health()});
  done = program.StartOps(kube::PublicMetrics(program.metrics()));
  if (done && connects) done = kube::AddMetricsServer(program);
  if (!done) co_return done;
  auto made = NewServer(program);
  if (!made) co_return made.error();
  mode->AddTo(**made);
  AddProbe(**made, FLAGS_operator_namespace, [&mode] { return mode->Report(); });
  kube::HttpsServer& server = program.AddServer("webhook", std::move(*made));
  mode->Start(program.tasks());
  LOG(INFO) << chosen->what << ", on port " << server.port() << "; health on port "
            << program.ops_port();

  co_await program.app().WaitForStop();
  done = co_await Retire(program, server);
  if (!done) co_return done;
  done = co_await program.Drain();
  kube::Result<> ended = co_await mode->End();
  LOG_IF(WARNING, !ended) << ended.error();
  co_return done;
}

}  // namespace
}  // namespace webhook

int main(int argc, char** argv) {
  return kube::RunProgram(
      {"webhook", "Adds scheduling gates or the criteria of policies.", api::kVersion, argc, argv},
      api::UserAgent("webhook"), webhook::Serve);
}
