// SPDX-License-Identifier: Apache-2.0
// operator: runs the operands that the ClusterPodPlacementConfig and the PodPlacementConfigs ask
// for. Every replica serves the webhooks of both kinds, and those of the features (replica.h); the
// replica that holds the Lease does the rest (leader.h).
#include <gflags/gflags.h>

#include <chrono>
#include <iostream>
#include <string_view>
#include <utility>

#include "api/user_agent.h"
#include "api/version.h"
#include "ephemeral-containers/operator/warning_feature.h"
#include "exec-format/operator/monitor_feature.h"
#include "exec-format/operator/monitor_metrics.h"
#include "image-facts/operator/known_images_feature.h"
#include "image-facts/policy/hot_images.h"
#include "image-facts/policy/policy_metrics.h"
#include "kube/base/split.h"
#include "kube/program/program.h"
#include "kube/server/metrics_server.h"
#include "operator/feature.h"
#include "operator/node_taints/node_taints_feature.h"
#include "operator/options.h"
#include "operator/replica.h"
#include "operator/self_test/self_test.h"
#include "operator/teardown/delete_configs.h"
#include "operator/teardown/late_pods.h"
#include "scheduling-policies/operator/policy_feature.h"

DEFINE_bool(
    delete_configs, false,
    "Only deletes all PodPlacementConfigs and the ClusterPodPlacementConfig, and waits until "
    "a running operator has removed its operands and ungated all pods, a minute longer than its "
    "operands exist. For a Job before the operator is uninstalled.");
DEFINE_string(
    self_test, "",
    "Only checks the operator that runs in --namespace: that its Deployment is available, that "
    "these versions of CustomResourceDefinitions are served (NAME/VERSION,...), and that its "
    "webhooks answer. Prints each check. For `helm test`.");
DECLARE_string(namespace);

namespace operator_ {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kName = "operator";
// With kStoredLate, less than the time that Helm waits for a hook, which includes the start of a
// pod.
constexpr auto kDeleteConfigsWithin = 200s;
// A new operator serves its webhooks some seconds after its Deployment is available.
constexpr auto kSelfTestWithin = 60s;

kube::Async<> DeleteAllConfigs(kube::Program& program) {
  kube::Result<> connected = program.Connect();
  if (!connected) co_return connected;
  kube::TimePoint deadline = program.clock().Now() + kDeleteConfigsWithin;
  kube::Result<> deleted = co_await DeleteConfigs(program.client(), program.clock(), deadline);
  if (!deleted) co_return deleted.error();
  std::cout << "waiting while the operator looks for pods that API servers store late with a "
               "scheduling gate"
            << std::endl;
  co_return co_await program.clock().Sleep(kStoredLate);
}

kube::Async<> TestInstallation(kube::Program& program) {
  kube::Result<> connected = program.Connect();
  if (!connected) co_return connected;
  SelfTestOptions options{.ns = FLAGS_namespace,
                          .crd_versions = kube::SplitAtCommas(FLAGS_self_test)};
  kube::TimePoint deadline = program.clock().Now() + kSelfTestWithin;
  co_return co_await SelfTest(program.client(), program.clock(), std::move(options), deadline);
}

kube::Async<> Serve(kube::Program& program) {
  kube::Result<OperatorOptions> options = OptionsFromFlags();
  if (!options) co_return options.error();
  kube::Result<> done = program.Connect();
  if (!done) co_return done;

  Features features;
  features.push_back(NewPolicyFeature(program.client(), program.clock(), options->operands.ns));
  features.push_back(NewNodeTaintsFeature());
  features.push_back(NewWarningFeature());  // ephemeral-containers/
  exec_format::MonitorMetrics monitor_metrics(program.metrics());
  features.push_back(exec_format::NewMonitorFeature(monitor_metrics));
  image_facts::PolicyMetrics policy_metrics(program.metrics());
  features.push_back(image_facts::NewKnownImagesFeature(policy_metrics));

  // Health and metrics start first and stop last, so the kubelet always gets an answer.
  Replica replica(program, std::move(*options), features,
                  image_facts::NewHotImages(policy_metrics));
  done = program.StartOps(kube::PublicMetrics(program.metrics()));
  if (!done) co_return done;
  co_return co_await replica.Run();
}

}  // namespace
}  // namespace operator_

int main(int argc, char** argv) {
  return kube::RunProgram(
      {.name = operator_::kName,
       .summary =
           "Runs the operands for the ClusterPodPlacementConfig and the PodPlacementConfigs.",
       .version = api::kVersion,
       .argc = argc,
       .argv = argv},
      api::UserAgent(operator_::kName), [](kube::Program& program) {
        if (FLAGS_delete_configs) return operator_::DeleteAllConfigs(program);
        if (!FLAGS_self_test.empty()) return operator_::TestInstallation(program);
        return operator_::Serve(program);
      });
}
