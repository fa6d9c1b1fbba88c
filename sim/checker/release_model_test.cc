// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/release_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/names.h"
#include "sim/checker/testing/run.h"

namespace sim::checker {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<std::string> kBoth = {"amd64", "arm64"};
const Image kAmdImage = {.platforms = {{"linux", "amd64"}}};

class ReleaseModel : public testing::Test {
 protected:
  // What is found when the program makes this of the pod.
  std::vector<std::string> Shard(Json pod) {
    run_.WritePod(kShardOfShop, WithoutGate(std::move(pod), api::kLocalGate));
    return run_.Found();
  }
  std::vector<std::string> Controller(Json pod) {
    run_.WritePod(kController, WithoutGate(std::move(pod), api::kClusterGate));
    return run_.Found();
  }
  // A pod that the shard has released with the config "arm"; then "amd" was created.
  Json ReleasedBeforeAmd() {
    run_.SetConfig("arm", Prefers({{"arm64", 75}}));
    Json pod = run_.CreatePod(Pod("web"), true);
    pod = run_.WritePod(
        kShardOfShop,
        WithoutGate(Preferring(pod, "arm64", 75, "PodPlacementConfig-arm"), api::kLocalGate));
    run_.SetConfig("amd", Prefers({{"amd64", 5}}, 1));
    return pod;
  }

  TestRun run_;
};

// ---- Preferences of PodPlacementConfigs.

TEST_F(ReleaseModel, PreferenceOfTheShard) {
  run_.SetConfig("arm", Prefers({{"arm64", 75}}));
  Json pod = run_.CreatePod(Pod("web"), true);
  EXPECT_THAT(Shard(Preferring(pod, "arm64", 75, "PodPlacementConfig-arm")), IsEmpty())
      << run_.Described();
}

TEST_F(ReleaseModel, PreferenceLost) {
  run_.SetConfig("arm", Prefers({{"arm64", 75}}));
  Json pod = run_.CreatePod(Pod("web"), true);
  EXPECT_THAT(Shard(pod), ElementsAre("I4")) << run_.Described();
}

TEST_F(ReleaseModel, PreferenceOfAConfigWrittenMeanwhile) {
  run_.SetConfig("arm", Prefers({{"arm64", 75}}));
  Json first = run_.CreatePod(Pod("web-1"), true);
  Json second = run_.CreatePod(Pod("web-2"), true);
  Json third = run_.CreatePod(Pod("web-3"), true);
  run_.SetConfig("arm", Prefers({{"arm64", 25}}));
  Shard(Preferring(first, "arm64", 75, "PodPlacementConfig-arm"));
  EXPECT_THAT(Shard(Preferring(second, "arm64", 25, "PodPlacementConfig-arm")), IsEmpty())
      << run_.Described();
  EXPECT_THAT(Shard(third), ElementsAre("I4")) << run_.Described();
}

TEST_F(ReleaseModel, AnnouncedConfigIsNeverMissed) {
  run_.SetConfig("arm", Prefers({{"arm64", 75}}));
  run_.SetConfig("arm", Prefers({{"arm64", 25}}));
  Json pod = run_.CreatePod(Pod("web"), true);
  EXPECT_THAT(Shard(Preferring(pod, "arm64", 75, "PodPlacementConfig-arm")), ElementsAre("I4"))
      << run_.Described();
}

TEST_F(ReleaseModel, ConfigThatCouldNotBeAnnouncedMayBeMissedForAMoment) {
  run_.SetConfig("arm", Prefers({{"arm64", 75}}), /*announced=*/false);
  Json first = run_.CreatePod(Pod("web-1"), true);
  EXPECT_THAT(Shard(first), IsEmpty()) << run_.Described();
  run_.Advance(1min);
  Json second = run_.CreatePod(Pod("web-2"), true);
  EXPECT_THAT(Shard(second), ElementsAre("I4")) << run_.Described();
}

TEST_F(ReleaseModel, ConfigsThatDoNotSelectThePod) {
  Json spec = Prefers({{"arm64", 75}});
  spec["labelSelector"] = {{"matchLabels", {{"app", "web"}}}};
  run_.SetConfig("arm", spec);
  Json pod = run_.CreatePod(Labelled(Pod("web"), "app", "web"), true);
  pod = run_.WritePod(kUser, Labelled(pod, "app", "mail"));
  EXPECT_THAT(Shard(pod), IsEmpty()) << run_.Described();
}

TEST_F(ReleaseModel, ConfigIsAppliedToAPodWithoutLocalGate) {
  run_.SetConfig("arm", Prefers({{"arm64", 75}}));
  Json missed = run_.CreatePod(Pod("missed"));
  Json kept = run_.CreatePod(Pod("kept"));
  EXPECT_THAT(Controller(Required(Preferring(kept, "arm64", 75, "PodPlacementConfig-arm"), kBoth)),
              IsEmpty())
      << run_.Described();
  EXPECT_THAT(Controller(Required(missed, kBoth)), ElementsAre("I4")) << run_.Described();
}

TEST_F(ReleaseModel, ConfigIsNotAppliedAgainAfterTheShard) {
  Json pod = ReleasedBeforeAmd();
  EXPECT_THAT(Controller(Required(Preferring(pod, "amd64", 5, "PodPlacementConfig-amd"), kBoth)),
              ElementsAre("I4"))
      << run_.Described();
}

TEST_F(ReleaseModel, ConfigIsAppliedAgainIfAUserRemovesTheMarkOfTheShard) {
  Json pod = ReleasedBeforeAmd();
  run_.Advance(1min);
  pod["metadata"]["labels"].erase(std::string(api::kLocalGateLabel));
  pod = run_.WritePod(kUser, pod);
  EXPECT_THAT(Controller(Required(Preferring(pod, "amd64", 5, "PodPlacementConfig-amd"), kBoth)),
              IsEmpty())
      << run_.Described();
}

TEST_F(ReleaseModel, ConfigIsAppliedAfterTheOperatorRemovedTheLocalGate) {
  run_.SetConfig("old", Prefers({{"arm64", 75}}));
  run_.Advance(1min);
  run_.DeleteConfig("old");
  run_.SetConfig("arm", Prefers({{"arm64", 75}}));
  Json pod = run_.CreatePod(Pod("web"), true);
  pod = run_.WritePod(kOperatorUser, WithoutGate(pod, api::kLocalGate));
  EXPECT_THAT(run_.Found(), IsEmpty()) << run_.Described();
  EXPECT_THAT(Controller(Required(pod, kBoth)), ElementsAre("I4")) << run_.Described();
}

TEST_F(ReleaseModel, ConfigIsAppliedToACopyOfAReleasedPod) {
  run_.SetConfig("arm", Prefers({{"arm64", 75}}));
  Json copy = run_.CreatePod(Labelled(Pod("copy"), std::string(api::kLocalGateLabel), "removed"));
  EXPECT_THAT(Controller(Required(copy, kBoth)), ElementsAre("I4")) << run_.Described();
}

TEST_F(ReleaseModel, CopyThatNoAdmissionHasSeenMayMissTheConfig) {
  run_.SetConfig("arm", Prefers({{"arm64", 75}}));
  Json copy = Labelled(Pod("copy"), std::string(api::kLocalGateLabel), "removed");
  copy["spec"]["schedulingGates"] = Json::array({{{"name", std::string(api::kClusterGate)}}});
  copy = run_.Write(kUser, "", "pods", copy, "", copy);
  Json missed = Labelled(copy, std::string(api::kPreferredNodeAffinityLabel), "not-set");
  EXPECT_THAT(Controller(Required(missed, kBoth)), IsEmpty()) << run_.Described();
}

TEST_F(ReleaseModel, RulesAreNotJudged) {
  Json spec = Prefers({{"arm64", 75}});
  spec["celRules"] = Json::array({{{"name", "batch"}, {"expression", "true"}}});
  run_.SetConfig("arm", spec);
  Json pod = run_.CreatePod(Pod("web"), true);
  EXPECT_THAT(Shard(pod), IsEmpty()) << run_.Described();
  EXPECT_EQ(run_.checker().judged().not_judged.at("CEL rules"), 1u);
}

// ---- Preferences of the ClusterPodPlacementConfig.

TEST_F(ReleaseModel, ClusterPreferencesWhereNoConfigHasTheArchitecture) {
  Json cluster = Prefers({{"arm64", 10}, {"amd64", 20}});
  run_.SetCluster(cluster);
  run_.SetConfig("arm", Prefers({{"arm64", 75}}));
  run_.Advance(1min);
  auto released = [&](const char* name) {
    Json pod = run_.CreatePod(Pod(name), true);
    return run_.WritePod(
        kShardOfShop,
        WithoutGate(Preferring(pod, "arm64", 75, "PodPlacementConfig-arm"), api::kLocalGate));
  };
  Json right = Preferring(released("right"), "amd64", 20, "ClusterPodPlacementConfig");
  right = Recorded(right, "arm64:10:ClusterPodPlacementConfig:skipped");
  EXPECT_THAT(Controller(Required(right, kBoth)), IsEmpty()) << run_.Described();
  EXPECT_THAT(Controller(Required(released("wrong"), kBoth)), ElementsAre("I4"))
      << run_.Described();

  cluster["plugins"]["nodeAffinityScoring"]["precedence"] = "Namespace";
  run_.SetCluster(cluster);
  run_.Advance(1min);
  EXPECT_THAT(Controller(Required(released("namespace"), kBoth)), ElementsAre("I4"))
      << run_.Described();
}

// ---- Requirements.

TEST_F(ReleaseModel, RequirementByTheImages) {
  Json pod = run_.CreatePod(Pod("web"));
  EXPECT_THAT(Controller(Required(pod, {"amd64"})), ElementsAre("I4")) << run_.Described();
}

TEST_F(ReleaseModel, ImageThatHasChanged) {
  run_.facts().images.SetPlatforms(kImage, run_.now() - 10s, kAmdImage);
  Json early = run_.CreatePod(Pod("early"));
  Json earlier = run_.CreatePod(Pod("earlier"));
  run_.Advance(5min);
  Json late = run_.CreatePod(Pod("late"));
  Json later = run_.CreatePod(Pod("later"));
  Controller(Required(early, {"amd64"}));
  Controller(Required(earlier, kBoth));
  EXPECT_THAT(Controller(Required(late, {"amd64"})), IsEmpty()) << run_.Described();
  EXPECT_THAT(Controller(Required(later, kBoth)), ElementsAre("I4")) << run_.Described();
}

TEST_F(ReleaseModel, StaleImageOnlyWhileTheRegistryFails) {
  run_.facts().images.SetPlatforms(kImage, run_.now() + 1min, kAmdImage);
  run_.facts().images.SetRegistry("r.io", run_.now() + 5min, Registry::kFails);
  run_.Advance(4min);
  Json before = run_.CreatePod(Pod("before"));
  EXPECT_THAT(Controller(Required(before, kBoth)), ElementsAre("I4")) << run_.Described();
  run_.Advance(4min);
  Json stale = run_.CreatePod(Pod("stale"));
  EXPECT_THAT(Controller(Required(stale, kBoth)), ElementsAre("I4")) << run_.Described();
}

TEST_F(ReleaseModel, OwnArchitectureStays) {
  run_.SetConfig("arm", Prefers({{"arm64", 75}}));
  Json own = Pod("own");
  own["spec"]["nodeSelector"]["kubernetes.io/arch"] = "amd64";
  Json right = Preferring(run_.CreatePod(own), "arm64", 75, "PodPlacementConfig-arm");
  EXPECT_THAT(Controller(right), IsEmpty()) << run_.Described();
  own["metadata"]["name"] = "own-2";
  Json wrong = Preferring(run_.CreatePod(own), "arm64", 75, "PodPlacementConfig-arm");
  EXPECT_THAT(Controller(Required(wrong, kBoth)), ElementsAre("I4")) << run_.Described();
}

TEST_F(ReleaseModel, FailureOfARegistryThatAnswered) {
  Json pod = Failed(run_.CreatePod(Pod("web")), 5);
  run_.Advance(2min);
  EXPECT_THAT(Controller(pod), ElementsAre("I4")) << run_.Described();
}

TEST_F(ReleaseModel, FallbackArchitecture) {
  run_.SetCluster({{"fallbackArchitecture", "arm64"}});
  run_.facts().images.SetRegistry("r.io", run_.now(), Registry::kFails);
  run_.Advance(1min);
  Json first = run_.CreatePod(Pod("web-1")), second = run_.CreatePod(Pod("web-2"));
  run_.Advance(2min);
  Json right = Requiring(Failed(first, 5), "kubernetes.io/arch", {"arm64"});
  right = Labelled(right, "multiarch.openshift.io/node-affinity", "set");
  right = Labelled(right, "multiarch.openshift.io/fallback-arch", "arm64");
  EXPECT_THAT(Controller(right), IsEmpty()) << run_.Described();
  EXPECT_THAT(Controller(Failed(second, 5)), ElementsAre("I4")) << run_.Described();
}

TEST_F(ReleaseModel, ErrorIsClearedBySuccess) {
  run_.facts().images.SetRegistry("r.io", run_.now(), Registry::kFlaky);
  Json first = run_.WritePod(kController, Failed(run_.CreatePod(Pod("web-1")), 1));
  Json second = run_.WritePod(kController, Failed(run_.CreatePod(Pod("web-2")), 1));
  Json right = Required(first, kBoth);
  right["metadata"]["labels"].erase("multiarch.openshift.io/image-inspect-error");
  Json wrong = Required(second, kBoth);
  wrong["metadata"]["labels"].erase("multiarch.openshift.io/image-inspect-error");
  right["metadata"]["annotations"].erase("multiarch.openshift.io/image-inspect-error");
  EXPECT_THAT(Controller(right), IsEmpty()) << run_.Described();
  EXPECT_THAT(Controller(wrong), ElementsAre("I4")) << run_.Described();
}

// ---- Tolerations.

TEST_F(ReleaseModel, TolerationsOfTheDecidingConfig) {
  Json plugin = {{"plugins", {{"architectureTolerations", {{"enabled", true}}}}}};
  run_.SetCluster(plugin);
  run_.Advance(1min);
  auto tolerating = [](Json pod) { return Tolerating(Tolerating(pod, "amd64"), "arm64"); };
  Json pod = run_.CreatePod(Pod("web-1"));
  EXPECT_THAT(Controller(tolerating(Required(pod, kBoth))), IsEmpty()) << run_.Described();
  pod = run_.CreatePod(Pod("web-2"));
  EXPECT_THAT(Controller(Required(pod, kBoth)), ElementsAre("I4")) << run_.Described();
  // A PodPlacementConfig decides instead, also against.
  plugin["plugins"]["architectureTolerations"]["enabled"] = false;
  run_.SetConfig("none", plugin);
  pod = run_.CreatePod(Pod("web-3"));
  EXPECT_THAT(Controller(Required(pod, kBoth)), ElementsAre("I4")) << run_.Described();
  pod = run_.CreatePod(Pod("web-4"));
  EXPECT_THAT(Controller(tolerating(Required(pod, kBoth))), ElementsAre("I4", "I4"))
      << run_.Described();
}

TEST_F(ReleaseModel, ShardRecordsWhoseTolerationsApply) {
  Json spec = Prefers({{"arm64", 75}});
  spec["plugins"]["architectureTolerations"] = {{"enabled", true}};
  run_.SetConfig("arm", spec);
  Json first =
      Preferring(run_.CreatePod(Pod("web-1"), true), "arm64", 75, "PodPlacementConfig-arm");
  Json second =
      Preferring(run_.CreatePod(Pod("web-2"), true), "arm64", 75, "PodPlacementConfig-arm");
  EXPECT_THAT(Shard(Annotated(first, std::string(api::kLocalTolerationsAnnotation), "arm")),
              IsEmpty())
      << run_.Described();
  EXPECT_THAT(Shard(second), ElementsAre("I4")) << run_.Described();
}

TEST_F(ReleaseModel, AfterARefusalOfTheShardTheClustersTolerationsMayApply) {
  Json spec = Prefers({{"arm64", 75}});
  spec["plugins"]["architectureTolerations"] = {{"enabled", true}};
  run_.SetConfig("arm", spec);
  run_.Advance(1min);
  Json pod = run_.CreatePod(Pod("web-1"), true);
  run_.facts().refusals.Add(kShardOfShop, {"shop", "web-1"}, run_.now());
  EXPECT_THAT(Shard(pod), IsEmpty()) << run_.Described();
  Json ungated = WithoutGate(pod, api::kLocalGate);
  EXPECT_THAT(Controller(Required(ungated, kBoth)), IsEmpty()) << run_.Described();
  pod = run_.CreatePod(Pod("web-2"), true);
  pod = Preferring(pod, "arm64", 75, "PodPlacementConfig-arm");
  EXPECT_THAT(Shard(pod), ElementsAre("I4")) << "it has no record";
  ungated = WithoutGate(pod, api::kLocalGate);
  EXPECT_THAT(Controller(Required(ungated, kBoth)), ElementsAre("I4", "I4")) << run_.Described();
}

TEST_F(ReleaseModel, NoTolerationsWithoutInspection) {
  run_.SetCluster({{"plugins", {{"architectureTolerations", {{"enabled", true}}}}},
                   {"fallbackArchitecture", "arm64"}});
  run_.facts().images.SetRegistry("r.io", run_.now(), Registry::kFails);
  run_.Advance(1min);
  Json pod = run_.CreatePod(Pod("web"));
  run_.Advance(2min);
  Json failed = Requiring(Failed(pod, 5), "kubernetes.io/arch", {"arm64"});
  failed = Labelled(failed, "multiarch.openshift.io/node-affinity", "set");
  failed = Labelled(failed, "multiarch.openshift.io/fallback-arch", "arm64");
  EXPECT_THAT(Controller(Tolerating(failed, "arm64")), ElementsAre("I4")) << run_.Described();
}

}  // namespace
}  // namespace sim::checker
