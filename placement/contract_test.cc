// SPDX-License-Identifier: Apache-2.0
// What programs of different releases read from each other in a pod; see
// docs/decisions/releases-together.md. The texts are those of release 0.1.0, written out: they
// must not follow a change of api/names.h. In each row, this release reads what an old one wrote,
// and writes what an old one reads.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "api/names.h"
#include "api/testing/make_config.h"
#include "kube/testing/make_pod.h"
#include "placement/local_configs.h"
#include "placement/matching_configs.h"
#include "placement/release.h"

namespace placement {
namespace {

using kube::MakePod;
using kube::core::Pod;

constexpr char kClusterGate[] = "multiarch.openshift.io/scheduling-gate";
constexpr char kLocalGate[] = "multiarch.openshift.io/local-scheduling-gate";
constexpr char kSources[] = "multiarch.openshift.io/preferred-affinity-sources";
constexpr char kPreferred[] = "multiarch.openshift.io/preferred-node-affinity";

// As both webhooks leave a pod.
MakePod Created() {
  return std::move(MakePod("web")
                       .Image("r.io/app:1")
                       .Gate(kClusterGate)
                       .Gate(kLocalGate)
                       .Label(kClusterGate, "gated")
                       .Label(kLocalGate, "gated")
                       .Label("multiarch.openshift.io/node-affinity", "not-set")
                       .Label(kPreferred, "not-set")
                       .Annotation("multiarch.openshift.io/local-configs", "high,low"));
}
// As the shard leaves it, with preferences of "high" and "low".
MakePod ReleasedByShard() {
  return std::move(
      MakePod("web")
          .Image("r.io/app:1")
          .Gate(kClusterGate)
          .Label(kClusterGate, "gated")
          .Label(kLocalGate, "removed")
          .Label("multiarch.openshift.io/node-affinity", "not-set")
          .Label(kPreferred, "set")
          .Annotation("multiarch.openshift.io/local-configs", "high,low")
          .Annotation(kSources,
                      "arm64:75:PodPlacementConfig-high,arm64:5:PodPlacementConfig-low:skipped")
          .Prefers(75, "kubernetes.io/arch", {"arm64"}));
}

// A pod as text, for comparison: protobuf maps have no order.
std::string Text(const Pod& pod) {
  std::string text;
  for (const auto& gate : pod.spec().scheduling_gates()) text += "gate " + gate.name() + "\n";
  for (const auto* map : {&pod.metadata().labels(), &pod.metadata().annotations()}) {
    for (const auto& [key, value] : std::map<std::string, std::string>(map->begin(), map->end()))
      text += key + ": " + value + "\n";
  }
  const auto& affinity = pod.spec().affinity().node_affinity();
  for (const auto& term : affinity.preferred_during_scheduling_ignored_during_execution()) {
    text += "prefers " + std::to_string(term.weight());
    for (const auto& expression : term.preference().match_expressions())
      text += " " + expression.key() + " " + expression.values(0);
    text += "\n";
  }
  for (const auto& term :
       affinity.required_during_scheduling_ignored_during_execution().node_selector_terms()) {
    text += "requires";
    for (const auto& expression : term.match_expressions()) {
      text += " " + expression.key();
      for (const std::string& value : expression.values()) text += " " + value;
    }
    text += "\n";
  }
  return text;
}

// The names of objects and labels that programs look for.
TEST(NamesTest, AreThoseOfEarlierReleases) {
  EXPECT_EQ(api::kShardControllerName, "pod-placement-shard-controller");  // the Lease, too
  EXPECT_EQ(api::kShardWebhookName, "pod-placement-shard-web-hook");
  EXPECT_EQ(api::ShardWebhookConfigurationName("shop"), "pod-placement-shard-shop");
  EXPECT_EQ(api::kControllerName, "pod-placement-controller");
  EXPECT_EQ(api::kWebhookName, "pod-placement-web-hook");
  EXPECT_EQ(api::kAnnouncementsName, "pod-placement-announcements");
  EXPECT_EQ(api::kOperandLabel, "multiarch.openshift.io/operand");
  EXPECT_EQ(api::kLocalGatePathPrefix, "/local/");
  EXPECT_EQ(api::kClusterGatePath, "/add-pod-scheduling-gate");
  EXPECT_EQ(api::kClusterPreferencesPath, "/add-pod-scheduling-gate/with-preferences");
}

class ContractTest : public testing::Test {
 protected:
  const api::PodPlacementConfig high_ = api::MakeConfig("high").Priority(9).Prefer("arm64", 75);
  const api::PodPlacementConfig low_ = api::MakeConfig("low").Priority(1).Prefer("arm64", 5);
  const MatchingConfigs both_{&high_, &low_};
};

TEST_F(ContractTest, TheShardReadsWhatTheWebhookWrote) {
  EXPECT_EQ(GatingConfigs(Created()), (std::vector<std::string>{"high", "low"}));
}

// Written out for release 0.2.0, the first with rules. Release 0.1.0 skips the entries with '/'.
TEST_F(ContractTest, TheShardReadsTheRulesThatTheWebhookWrote) {
  std::vector<api::PodPlacementConfig> all = {low_};
  all[0].spec.cel_rules = {{"large", "true", {{"s390x", 80}}}};
  Pod pod =
      Created().Annotation("multiarch.openshift.io/local-configs", "low/large,other/rule,low");
  EXPECT_TRUE(ReleaseLocal(pod, ConfigsFor(pod, all)).released);
  EXPECT_EQ(pod.metadata().annotations().at(kSources),
            "s390x:80:PodPlacementConfig-low/large,arm64:5:PodPlacementConfig-low");
}

TEST_F(ContractTest, TheShardWritesWhatTheClusterControllerReads) {
  Pod pod = Created();
  EXPECT_TRUE(ReleaseLocal(pod, both_).released);
  EXPECT_EQ(Text(pod), Text(ReleasedByShard()));
}

TEST_F(ContractTest, TheShardNamesTheConfigOfTheTolerations) {
  api::PodPlacementConfig low = low_;
  low.spec.plugins->architecture_tolerations = api::ArchitectureTolerations{.enabled = true};
  Pod pod = Created();
  EXPECT_TRUE(ReleaseLocal(pod, {&high_, &low}).released);
  EXPECT_EQ(Text(pod),
            Text(ReleasedByShard().Annotation("multiarch.openshift.io/local-tolerations", "low")));
}

// The cluster controller that releases the pod may be another one.
TEST_F(ContractTest, ATakeoverWritesWhatAnotherClusterControllerReads) {
  api::PodPlacementConfig low = low_;
  low.spec.plugins->architecture_tolerations = api::ArchitectureTolerations{.enabled = true};
  Pod pod = Created()
                .Gate("kueue.x-k8s.io/admission")
                .Requires("zone", "In", {"a"})
                .Requires("kubernetes.io/arch", "In", {"arm64"});
  EXPECT_TRUE(ReleaseCluster(pod, {.configs = {&high_, &low},
                                   .platforms = ArchitectureSet{"arm64"},
                                   .await_other_gates = true,
                                   .take_over_shard = true})
                  .released);
  Pod written = ReleasedByShard()
                    .Gate("kueue.x-k8s.io/admission")
                    .Annotation("multiarch.openshift.io/local-tolerations", "low")
                    .Annotation("multiarch.openshift.io/required-terms", "0")
                    .Label("multiarch.openshift.io/node-affinity", "set")
                    .Label("multiarch.openshift.io/single-arch", "")
                    .Label("multiarch.openshift.io/arm64", "")
                    .Requires("zone", "In", {"a"})
                    .Requires("kubernetes.io/arch", "In", {"arm64"});
  auto& zone = *written.mutable_spec()
                    ->mutable_affinity()
                    ->mutable_node_affinity()
                    ->mutable_required_during_scheduling_ignored_during_execution()
                    ->mutable_node_selector_terms(0);
  kube::core::NodeSelectorRequirement& required = *zone.add_match_expressions();
  required.set_key("kubernetes.io/arch");
  required.add_values("arm64");
  EXPECT_EQ(Text(pod), Text(written));
}

// I1.
TEST_F(ContractTest, TheClusterControllerWaitsForAnotherReleasesGate) {
  Pod pod = Created();
  EXPECT_FALSE(
      ReleaseCluster(pod, {.configs = both_, .platforms = ArchitectureSet{"arm64"}}).released);
  EXPECT_EQ(Text(pod), Text(Created()));
}

// I4: what another release's shard has set is neither lost nor doubled, nor taken for the user's.
TEST_F(ContractTest, TheClusterControllerKeepsWhatAnotherReleasesShardSet) {
  Pod pod = ReleasedByShard();
  EXPECT_TRUE(
      ReleaseCluster(pod, {.configs = both_, .platforms = ArchitectureSet{"amd64", "arm64"}})
          .released);
  EXPECT_EQ(Text(pod),
            "multiarch.openshift.io/amd64: \n"
            "multiarch.openshift.io/arm64: \n"
            "multiarch.openshift.io/local-scheduling-gate: removed\n"
            "multiarch.openshift.io/multi-arch: \n"
            "multiarch.openshift.io/node-affinity: set\n"
            "multiarch.openshift.io/preferred-node-affinity: set\n"
            "multiarch.openshift.io/scheduling-gate: removed\n"
            "multiarch.openshift.io/local-configs: high,low\n"
            "multiarch.openshift.io/preferred-affinity-sources: "
            "arm64:75:PodPlacementConfig-high,arm64:5:PodPlacementConfig-low:skipped\n"
            "prefers 75 kubernetes.io/arch arm64\n"
            "requires kubernetes.io/arch amd64 arm64\n");
}

}  // namespace
}  // namespace placement
