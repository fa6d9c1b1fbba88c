// SPDX-License-Identifier: Apache-2.0
#include "e2e/demo/pod_story.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/names.h"
#include "e2e/framework/objects.h"

namespace e2e {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Json Gates(std::vector<std::string_view> names) {
  Json gates = Json::array();
  for (std::string_view name : names) gates.push_back({{"name", name}});
  return gates;
}

TEST(PodStoryTest, ShowsTheGatesAtCreation) {
  Json pod = MakePod("web")
                 .Set("/spec/schedulingGates", Gates({api::kLocalGate, api::kClusterGate}))
                 .Build();
  EXPECT_THAT(StepsBetween(nullptr, pod, {}),
              ElementsAre("created with local gate + cluster gate"));
  EXPECT_THAT(StepsBetween(nullptr, MakePod("web").Build(), {}),
              ElementsAre("created with no gate"));
}

TEST(PodStoryTest, ShowsEachStepOnce) {
  Json both = MakePod("web")
                  .Set("/spec/schedulingGates", Gates({api::kLocalGate, api::kClusterGate}))
                  .Build();
  Json one = MakePod("web")
                 .Prefer("ppc64le", 5)
                 .Prefer("arm64", 75)
                 .Annotation(std::string(api::kPreferredAffinitySourcesAnnotation),
                             "arm64:75:PodPlacementConfig-a,arm64:9:PodPlacementConfig-b:skipped")
                 .Set("/spec/schedulingGates", Gates({api::kClusterGate}))
                 .Build();
  Json none = one;
  none["spec"].erase("schedulingGates");
  Json bound = none;
  bound["spec"]["nodeName"] = "n1";

  EXPECT_THAT(
      StepsBetween(both, one, {}),
      ElementsAre(
          "shard:      prefers arm64:75, ppc64le:5 (PodPlacementConfig-a); local gate removed"));
  EXPECT_THAT(StepsBetween(one, none, {}),
              ElementsAre("controller: requires -; cluster gate removed"));
  EXPECT_THAT(StepsBetween(none, bound, {{"n1", "arm64"}}),
              ElementsAre("scheduler:  on node n1 (arm64)"));
  EXPECT_THAT(StepsBetween(bound, bound, {}), IsEmpty());
}

TEST(PodStoryTest, ShowsTheTolerationsThatWereAdded) {
  auto toleration = [](const char* key, const char* value) {
    return Json{{"key", key}, {"operator", "Equal"}, {"value", value}, {"effect", "NoSchedule"}};
  };
  Json gated = MakePod("web")
                   .Set("/spec/schedulingGates", Gates({api::kClusterGate}))
                   .Set("/spec/tolerations", Json::array({toleration("gpu", "a")}))
                   .Build();
  Json released = gated;
  released["spec"].erase("schedulingGates");
  EXPECT_THAT(StepsBetween(gated, released, {}),
              ElementsAre("controller: requires -; cluster gate removed"));
  for (const char* architecture : {"amd64", "arm64"})
    released["spec"]["tolerations"].push_back(toleration("kubernetes.io/arch", architecture));
  EXPECT_THAT(
      StepsBetween(gated, released, {}),
      ElementsAre("controller: requires -; tolerates taints of amd64|arm64; cluster gate removed"));
}

TEST(PodStoryTest, FindsTheTaintedNode) {
  auto node = [](const char* name, const char* key, const char* effect) {
    Json taint = {{"key", key}, {"value", "arm64"}, {"effect", effect}};
    return Json{{"metadata", {{"name", name}}}, {"spec", {{"taints", Json::array({taint})}}}};
  };
  EXPECT_EQ(TaintedNodeOf({}), "");
  EXPECT_EQ(TaintedNodeOf({Json{{"metadata", {{"name", "n1"}}}}, node("n2", "gpu", "NoSchedule"),
                           node("n3", "kubernetes.io/arch", "NoExecute")}),
            "");
  EXPECT_EQ(TaintedNodeOf(
                {node("n2", "gpu", "NoSchedule"), node("n4", "kubernetes.io/arch", "NoSchedule")}),
            "n4");
}

TEST(PodStoryTest, PrefersOnlySupportedArchitectures) {
  Json pod = MakePod("web")
                 .Require(std::string(api::kArchLabel), {"amd64", "arm64"})
                 .Prefer("ppc64le", 90)
                 .Prefer("arm64", 40)
                 .Prefer("amd64", 10)
                 .Build();
  EXPECT_THAT(ExpectationOf(pod).supported, ElementsAre("amd64", "arm64"));
  EXPECT_THAT(ExpectationOf(pod).preferred, ElementsAre("arm64"));
  EXPECT_THAT(ExpectationOf(MakePod("none").Build()).preferred, IsEmpty());
}

class VerdictTest : public testing::Test {
 protected:
  static Json Replica(const std::string& name, const std::string& node) {
    Json pod = MakePod(name)
                   .Require(std::string(api::kArchLabel), {"amd64", "arm64", "ppc64le"})
                   .Prefer("arm64", 100)
                   .Prefer("ppc64le", 50)
                   .Set("/metadata/uid", name)
                   .Build();
    pod["metadata"]["ownerReferences"] = Json::array({{{"uid", "replicaset"}}});
    pod["spec"]["nodeName"] = node;
    return pod;
  }

  std::map<std::string, std::string> nodes_ = {{"n1", "arm64"}, {"n2", "ppc64le"}, {"n3", "s390x"}};
};

TEST_F(VerdictTest, OnlyAViolatedRequirementIsWrong) {
  Verdict verdict = VerdictOn(Replica("a", "n1"), {}, nodes_);
  EXPECT_TRUE(verdict.good);
  EXPECT_EQ(verdict.text, "ok: preferred");
  EXPECT_FALSE(VerdictOn(Replica("a", "n3"), {}, nodes_).good);
  EXPECT_FALSE(VerdictOn(Replica("a", ""), {}, nodes_).good);
}

TEST_F(VerdictTest, ExplainsANodeThatIsNotPreferred) {
  Json second = Replica("b", "n2");
  Verdict verdict = VerdictOn(second, {Replica("a", "n1"), second}, nodes_);
  EXPECT_TRUE(verdict.good);
  EXPECT_THAT(verdict.text, HasSubstr("1 replicas are there, and the scheduler spreads"));
  verdict = VerdictOn(second, {Replica("a", "n2"), second}, nodes_);
  EXPECT_TRUE(verdict.good);
  EXPECT_THAT(verdict.text, HasSubstr("other scores"));
  nodes_.erase("n1");
  EXPECT_THAT(VerdictOn(second, {second}, nodes_).text, HasSubstr("no node has it"));
}

}  // namespace
}  // namespace e2e
