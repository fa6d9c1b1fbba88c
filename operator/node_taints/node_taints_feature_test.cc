// SPDX-License-Identifier: Apache-2.0
#include "operator/node_taints/node_taints_feature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "kube/base/error.h"
#include "kube/types/core.pb.h"
#include "operator/node_taints/testing/make_node.h"
#include "operator/testing/harness.h"

namespace operator_ {
namespace {

using kube::core::Node;
using testing::HasSubstr;
using namespace std::chrono_literals;

class NodeTaintsFeatureTest : public testing::Test {
 protected:
  NodeTaintsFeatureTest() { h_.features.push_back(NewNodeTaintsFeature()); }

  void Start() {
    h_.StartOperator();
    ASSERT_TRUE(h_.BringUpCluster());
  }
  // "none" without the condition.
  std::string Condition() { return h_.ClusterCondition(kArchitectureTaintsTolerated); }
  std::string Message() { return h_.ClusterMessage(kArchitectureTaintsTolerated); }
  int Lists() { return h_.api.CountCalls("GET /api/v1/nodes"); }
  void SetPlugin(bool enabled) {
    kube::Json config = *h_.api.GetJson(Harness::kClusterConfigs, {"", "cluster"});
    config["spec"]["plugins"]["architectureTolerations"]["enabled"] = enabled;
    h_.api.UpdateJson(Harness::kClusterConfigs, config);
  }
  void Taint(const std::string& name) {
    h_.api.Create<Node>(MakeNode(name, "arm64", {{.value = "arm64"}}));
  }

  Harness h_;
};

TEST_F(NodeTaintsFeatureTest, ATaintedNodeSuggestsThePluginUntilItIsOn) {
  h_.api.Create<Node>(MakeNode("amd64-1", "amd64"));
  Taint("arm64-1");
  Taint("arm64-2");
  Start();
  ASSERT_TRUE(h_.Await([&] { return Condition() == "False PluginDisabled"; }));
  EXPECT_THAT(Message(), HasSubstr("node arm64-1 has the taint kubernetes.io/arch=arm64:"));
  EXPECT_THAT(Message(), HasSubstr("spec.plugins.architectureTolerations"));
  EXPECT_EQ(h_.ClusterCondition("Degraded"), "False AsExpected");
  EXPECT_EQ(h_.ClusterCondition("Available"), "True AllComponentsReady");

  SetPlugin(true);
  EXPECT_TRUE(h_.Await([&] { return Condition() == "none"; }));
  int lists = Lists();
  h_.Pass(60s);
  EXPECT_EQ(Lists(), lists);
  SetPlugin(false);
  EXPECT_TRUE(h_.Await([&] { return Condition() == "False PluginDisabled"; }));
}

TEST_F(NodeTaintsFeatureTest, TaintsAreNoticedWithinTheInterval) {
  h_.api.Create<Node>(MakeNode("amd64-1", "amd64"));
  Start();
  h_.Pass(60s);
  EXPECT_EQ(Condition(), "none");
  EXPECT_EQ(Lists(), 1);
  Taint("arm64-1");
  h_.clock.Advance(kListNodesEvery);
  EXPECT_TRUE(h_.Await([&] { return Condition() == "False PluginDisabled"; }));
  EXPECT_EQ(Lists(), 2);
  h_.api.Delete<Node>({"", "arm64-1"});
  h_.clock.Advance(kListNodesEvery);
  EXPECT_TRUE(h_.Await([&] { return Condition() == "none"; }));
}

TEST_F(NodeTaintsFeatureTest, ALargeClusterIsReadInPagesAndMoreSeldom) {
  constexpr int kNodes = 3 * kNodesOfAPage;
  for (int i = 0; i < kNodes; ++i) h_.api.Create<Node>(MakeNode("n" + std::to_string(i), "amd64"));
  Start();
  h_.Pass(1s);
  int pages = Lists();
  EXPECT_GE(pages, 3);
  h_.clock.Advance(kListNodesEvery);
  h_.Pass(1s);
  EXPECT_EQ(Lists(), pages);
  h_.clock.Advance(kForEachNode * kNodes);
  EXPECT_TRUE(h_.Await([&] { return Lists() == 2 * pages; }));
}

TEST_F(NodeTaintsFeatureTest, AListEndsAtTheFirstTaint) {
  Taint("a");
  for (int i = 0; i < 3 * kNodesOfAPage; ++i)
    h_.api.Create<Node>(MakeNode("n" + std::to_string(i), "amd64"));
  Start();
  ASSERT_TRUE(h_.Await([&] { return Condition() == "False PluginDisabled"; }));
  EXPECT_EQ(Lists(), 1);
}

TEST_F(NodeTaintsFeatureTest, WithoutTheRightNothingIsSuggestedAndNothingDegraded) {
  Taint("arm64-1");
  h_.api.FailNext(kube::Error::PermissionDenied("nodes is forbidden"), "GET /api/v1/nodes", 100);
  Start();
  h_.Pass(60s);
  EXPECT_EQ(Condition(), "none");
  EXPECT_EQ(h_.ClusterCondition("Degraded"), "False AsExpected");
  EXPECT_EQ(Lists(), 1);
}

TEST_F(NodeTaintsFeatureTest, AnErrorIsRetriedAndChangesNothing) {
  Taint("arm64-1");
  Start();
  ASSERT_TRUE(h_.Await([&] { return Condition() == "False PluginDisabled"; }));
  h_.StopOperator();
  h_.api.FailNext(kube::Error::Unavailable("503"), "GET /api/v1/nodes", 3);
  h_.StartOperator();
  h_.Pass(100ms);
  EXPECT_EQ(Condition(), "False PluginDisabled");
  EXPECT_TRUE(h_.Await([&] { return Lists() >= 4; }));
  EXPECT_EQ(Condition(), "False PluginDisabled");
}

// A cluster that is not placed yet has no condition, and costs no list.
TEST_F(NodeTaintsFeatureTest, NodesAreNotListedWithoutAConfig) {
  Taint("arm64-1");
  h_.StartOperator();
  h_.Pass(60s);
  EXPECT_EQ(Lists(), 0);
}

}  // namespace
}  // namespace operator_
