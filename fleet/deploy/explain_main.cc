// SPDX-License-Identifier: Apache-2.0
// bazel run //fleet:explain: why a Placement selects a cluster or does not. Decides as the hub
// does, from what the user may read on the hub; the hub itself is not asked.
#include <gflags/gflags.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "fleet/cel/evaluator.h"
#include "fleet/deploy/cluster_flags.h"
#include "fleet/deploy/explain_text.h"
#include "fleet/hub/cluster_cel.h"
#include "fleet/hub/explain.h"
#include "fleet/hub/fleet_store.h"
#include "fleet/hub/fleet_watch.h"
#include "kube/types/object_name.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

DEFINE_string(placement, "", "The Placement, as NAMESPACE/NAME. Required.");
DEFINE_string(cluster, "", "The cluster to explain; empty: all of them.");
DEFINE_bool(json, false, "Prints the answer of the hub's debug server instead of words.");
DEFINE_string(spread, "enforce", "As the hub's flag: enforce, or ignore.");
DEFINE_validator(spread, [](const char*, const std::string& value) {
  return value == "enforce" || value == "ignore";
});
DEFINE_string(cel_evaluator, "fleet/cel/evaluator/evaluator",
              "The program that evaluates celSelectors.");

namespace fleet {
namespace {

using kube::Async;
using kube::Error;
using kube::Json;
using kube::Ok;
using kube::Result;
using namespace std::chrono_literals;

constexpr auto kPollEvery = 100ms;
// Lists are complete within seconds, also of a large fleet.
constexpr std::chrono::seconds kCompleteWithin{30};
constexpr kube::Duration kEndWithin = 5s;

Result<kube::ObjectKey> PlacementFromFlag() {
  size_t slash = FLAGS_placement.find('/');
  if (slash == std::string::npos) return Error::Invalid("--placement=NAMESPACE/NAME is required");
  kube::ObjectKey key{FLAGS_placement.substr(0, slash), FLAGS_placement.substr(slash + 1)};
  if (!kube::IsObjectName(key.ns) || !kube::IsObjectName(key.name))
    return Error::Invalid("--placement must be NAMESPACE/NAME");
  return key;
}

// The objects that use the watches and the evaluator; destroyed before them.
struct Reads {
  Reads(kube::App& app, kube::Client& client)
      : store(app.clock(), [](const kube::ObjectKey&) {}),
        watch(client, app.clock(), store),
        evaluator(app.executor(), app.clock(),
                  cel::EvaluatorOptions{.program = FLAGS_cel_evaluator}),
        selectors(client, app.clock(), evaluator, store, app.tasks()) {}
  FleetStore store;
  FleetWatch watch;
  cel::Evaluator evaluator;
  ClusterCel selectors;
};

// Retries what is not known yet: the watches, CEL.
Async<Json> Ask(kube::App& app, Reads& reads, kube::ObjectKey placement) {
  const kube::TimePoint deadline =
      app.clock().Now() + std::min(TimeoutFromFlags(), kCompleteWithin);
  ScheduleOptions options;
  options.ignore_spread = FLAGS_spread == "ignore";
  while (true) {
    std::optional<Json> simulated;
    Result<Json> answer = co_await Explain(reads.store, reads.selectors, app.clock(), options,
                                           placement, std::move(simulated));
    if (!FailedWith(answer, kube::Code::kUnavailable)) co_return answer;
    if (app.clock().Now() >= deadline) {
      int incomplete = reads.watch.incomplete();
      if (incomplete == 0) co_return answer.error();
      co_return Error::DeadlineExceeded(std::to_string(incomplete) +
                                        " of the kinds that deciding reads cannot be listed: the "
                                        "hub has no such CRD, or you may not");
    }
    Result<> slept = co_await app.clock().Sleep(kPollEvery);
    if (!slept) co_return slept.error();
  }
}

Result<> Print(const Json& answer, const FleetStore& store, const kube::ObjectKey& placement) {
  if (FLAGS_json) {
    std::cout << kube::PrettyJson(answer) << std::endl;
    return Ok();
  }
  std::string error = kube::StringAt(answer, "error");
  if (!error.empty()) return Error::Invalid(placement.ToString() + " is misconfigured: " + error);
  std::set<std::string> selected;
  for (const auto& [cluster, entries] : store.decisions().OwnOf(placement))
    selected.insert(cluster);
  std::string text = ExplainText(answer, selected, FLAGS_cluster);
  if (text.empty()) {
    const std::string what = FLAGS_cluster.empty() ? "no cluster is" : FLAGS_cluster + " is not";
    text = what + " in a ManagedClusterSet that is bound in the namespace " + placement.ns +
           " and that the Placement uses\n";
  }
  std::cout << text << std::flush;
  return Ok();
}

Async<> ExplainFromFlags(kube::App& app) {
  Result<kube::ObjectKey> placement = PlacementFromFlag();
  if (!placement) co_return placement.error();
  auto client = ClientFromFlags(app);
  if (!client) co_return client.error();
  Reads reads(app, **client);
  reads.watch.Start(app.tasks());
  Result<Json> answer = co_await Ask(app, reads, *placement);
  Result<> printed = Ok();
  if (answer) printed = Print(*answer, reads.store, *placement);
  // Tasks end before the objects that they use are destroyed.
  Result<> ended = co_await app.EndTasks(app.tasks(), kEndWithin);
  if (!answer) co_return answer.error();
  if (!printed) co_return printed.error();
  co_return ended;
}

}  // namespace
}  // namespace fleet

int main(int argc, char** argv) {
  return fleet::RunTool("explain", "Says why a Placement selects a cluster or does not.", argc,
                        argv, fleet::ExplainFromFlags);
}
