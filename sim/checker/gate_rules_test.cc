// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/names.h"
#include "sim/checker/testing/run.h"

namespace sim::checker {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kOtherGate[] = "kueue.x-k8s.io/admission";

TEST(GateRules, KeptByShardAndClusterController) {
  TestRun run;
  run.SetConfig("arm", Prefers({{"arm64", 75}}));
  Json pod = run.CreatePod(Pod("web"), /*local=*/true);
  pod = run.WritePod(
      kShardOfShop,
      WithoutGate(Preferring(pod, "arm64", 75, "PodPlacementConfig-arm"), api::kLocalGate));
  run.WritePod(kController, Placed(pod, {"amd64", "arm64"}));
  EXPECT_THAT(run.Found(), IsEmpty()) << run.Described();
  EXPECT_EQ(run.checker().judged().judged, 2u);
  EXPECT_THAT(run.checker().judged().not_judged, IsEmpty());
}

TEST(GateRules, ClusterGateRemovedBeforeLocalGate) {
  TestRun run;
  run.SetConfig("arm", Prefers({{"arm64", 75}}));
  Json pod = run.CreatePod(Pod("web"), /*local=*/true);
  run.WritePod(kController,
               Placed(Preferring(pod, "arm64", 75, "PodPlacementConfig-arm"), {"amd64", "arm64"}));
  EXPECT_THAT(run.Found(), ElementsAre("I1")) << run.Described();
}

TEST(GateRules, ClusterGateRemovedByAnotherClientIsNoViolation) {
  TestRun run;
  run.SetConfig("arm", Prefers({{"arm64", 75}}));
  Json pod = run.CreatePod(Pod("web"), /*local=*/true);
  run.WritePod(kUser, WithoutGate(pod, api::kClusterGate));
  EXPECT_THAT(run.Found(), IsEmpty()) << run.Described();
}

TEST(GateRules, ClusterGateRemovedByShard) {
  TestRun run;
  Json pod = run.CreatePod(Pod("web"));
  run.WritePod(kShardOfShop, Placed(pod, {"amd64", "arm64"}));
  EXPECT_THAT(run.Found(), Contains("I1")) << run.Described();
}

TEST(GateRules, GateRemovedWithoutItsLabel) {
  TestRun run;
  Json pod = run.CreatePod(Pod("web"));
  run.WritePod(kController, Labelled(Placed(pod, {"amd64", "arm64"}),
                                     std::string(api::kClusterGateLabel), "gated"));
  EXPECT_THAT(run.Found(), ElementsAre("I2")) << run.Described();
}

TEST(GateRules, RequirementSetBeforeTheGateGoes) {
  TestRun run;
  Json pod = run.CreatePod(Pod("web"));
  run.WritePod(kController, Required(pod, {"amd64", "arm64"}));
  EXPECT_THAT(run.Found(), ElementsAre("I2")) << run.Described();
}

TEST(GateRules, PodWrittenAfterItsRelease) {
  TestRun run;
  Json pod = run.CreatePod(Pod("web"));
  pod = run.WritePod(kController, Placed(pod, {"amd64", "arm64"}));
  run.WritePod(kUser, Labelled(pod, "app", "web"));
  EXPECT_THAT(run.Found(), IsEmpty()) << run.Described();
  run.WritePod(kController, Labelled(pod, std::string(api::kFallbackArchLabel), "amd64"));
  EXPECT_THAT(run.Found(), Contains("I2")) << run.Described();
}

// docs/reference.md, Labels of pods.
TEST(GateRules, ExecFormatErrorOfAPodThatRuns) {
  constexpr char kExecFormatError[] = "multiarch.openshift.io/exec-format-error";
  TestRun run;
  Json pod = run.CreatePod(Pod("web"));
  pod = run.WritePod(kController, Placed(pod, {"amd64", "arm64"}));
  Json bound = pod;
  bound["spec"]["nodeName"] = "node-a";
  bound = run.WritePod(kUser, bound);
  run.WritePod(kController, Labelled(bound, kExecFormatError, "true"));
  EXPECT_THAT(run.Found(), IsEmpty()) << run.Described();
}

TEST(GateRules, ExecFormatErrorWithMoreThanItsLabel) {
  constexpr char kExecFormatError[] = "multiarch.openshift.io/exec-format-error";
  for (const char* label : {"app", "multiarch.openshift.io/arm64"}) {
    TestRun run;
    Json pod = run.CreatePod(Pod("web"));
    pod = run.WritePod(kController, Placed(pod, {"amd64"}));
    pod["spec"]["nodeName"] = "node-a";
    pod = run.WritePod(kUser, pod);
    run.WritePod(kController, Labelled(Labelled(pod, kExecFormatError, "true"), label, ""));
    EXPECT_THAT(run.Found(), Contains("I2")) << run.Described();
  }
  // No file was executed in a pod without a node.
  TestRun run;
  Json pod = run.CreatePod(Pod("web"));
  pod = run.WritePod(kController, Placed(pod, {"amd64"}));
  run.WritePod(kController, Labelled(pod, kExecFormatError, "true"));
  EXPECT_THAT(run.Found(), Contains("I2")) << run.Described();
}

TEST(GateRules, GateAdded) {
  TestRun run;
  Json pod = run.CreatePod(Pod("web"));
  run.WritePod(kController, Gated(pod, api::kLocalGate));
  EXPECT_THAT(run.Found(), ElementsAre("I2")) << run.Described();
}

TEST(GateRules, FirstDecisionOfAPodWithOtherGates) {
  TestRun run;
  Json pod = run.CreatePod(Gated(Pod("web"), kOtherGate));
  pod = run.WritePod(kController, Required(pod, {"amd64", "arm64"}));
  pod = run.WritePod(kUser, WithoutGate(pod, kOtherGate));
  run.WritePod(kController, WithoutGate(pod, api::kClusterGate));
  EXPECT_THAT(run.Found(), IsEmpty()) << run.Described();
  EXPECT_EQ(run.checker().judged().judged, 2u);
}

TEST(GateRules, TolerationsBeforeTheLastGate) {
  TestRun run;
  run.SetCluster({{"plugins", {{"architectureTolerations", {{"enabled", true}}}}}});
  run.Advance(std::chrono::minutes(1));
  Json pod = run.CreatePod(Gated(Pod("web"), kOtherGate));
  run.WritePod(kController, Tolerating(Required(pod, {"amd64", "arm64"}), "amd64"));
  EXPECT_THAT(run.Found(), ElementsAre("I2")) << run.Described();
}

TEST(GateRules, SecondFirstDecision) {
  TestRun run;
  Json pod = run.CreatePod(Gated(Pod("web"), kOtherGate));
  pod = run.WritePod(kController, Required(pod, {"amd64", "arm64"}));
  run.WritePod(kController, Requiring(pod, "kubernetes.io/arch", {"amd64"}));
  EXPECT_THAT(run.Found(), Contains("I2")) << run.Described();
}

}  // namespace
}  // namespace sim::checker
