// SPDX-License-Identifier: Apache-2.0
#include "placement/daemon_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "api/names.h"
#include "kube/base/error.h"
#include "kube/testing/encoded_field.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"

namespace placement {
namespace {

using kube::Code;
using kube::EncodedField;
using kube::FailsWith;
using kube::MakePod;
using kube::core::Pod;
using kube::core::PodSpec;
using kube::workloads::Taint;

NodeView MakeNode() {
  return {.name = "a",
          .labels = {{std::string(api::kArchLabel), "arm64"}, {"pool", "x"}, {"cores", "8"}}};
}

Taint MakeTaint(const std::string& key, const std::string& value, const std::string& effect) {
  Taint taint;
  taint.set_key(key);
  taint.set_value(value);
  taint.set_effect(effect);
  return taint;
}

TEST(DaemonNodesTest, WhichNodesAPodRunsOn) {
  struct Row {
    const char* name;
    Pod pod;
    bool runs;
  };
  const Row rows[] = {
      {"everywhere", MakePod(""), true},
      {"the pool", MakePod("").NodeSelector("pool", "x"), true},
      {"another pool", MakePod("").NodeSelector("pool", "y"), false},
      {"a label that is absent", MakePod("").NodeSelector("zone", ""), false},
      {"In", MakePod("").Requires("pool", "In", {"w", "x"}), true},
      {"not In", MakePod("").Requires("pool", "In", {"w"}), false},
      {"In, absent", MakePod("").Requires("zone", "In", {"w"}), false},
      {"NotIn", MakePod("").Requires("pool", "NotIn", {"x"}), false},
      {"NotIn, absent", MakePod("").Requires("zone", "NotIn", {"x"}), true},
      {"Exists", MakePod("").Requires("pool", "Exists"), true},
      {"Exists, absent", MakePod("").Requires("zone", "Exists"), false},
      {"DoesNotExist", MakePod("").Requires("pool", "DoesNotExist"), false},
      {"Gt", MakePod("").Requires("cores", "Gt", {"7"}), true},
      {"not Gt", MakePod("").Requires("cores", "Gt", {"8"}), false},
      {"Lt", MakePod("").Requires("cores", "Lt", {"9"}), true},
      {"Lt of a word", MakePod("").Requires("pool", "Lt", {"9"}), false},
      {"an unknown operator", MakePod("").Requires("pool", "Near", {"x"}), false},
      {"one of two terms", MakePod("").Requires("pool", "In", {"w"}).Requires("pool", "In", {"x"}),
       true},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(RunsOn(row.pod.spec(), MakeNode()), row.runs) << row.name;
    EXPECT_EQ(RunsOn(NodeConstraintsOf(row.pod.spec()), MakeNode()), row.runs) << row.name;
  }
}

TEST(DaemonNodesTest, ATermWithoutExpressionsMatchesNoNode) {
  PodSpec spec;
  auto& required = *spec.mutable_affinity()
                        ->mutable_node_affinity()
                        ->mutable_required_during_scheduling_ignored_during_execution();
  required.add_node_selector_terms();
  EXPECT_FALSE(RunsOn(spec, MakeNode()));
  auto& by_name = *required.add_node_selector_terms()->add_match_fields();
  by_name.set_key("metadata.name");
  by_name.set_operator_("In");
  by_name.add_values("a");
  EXPECT_TRUE(RunsOn(spec, MakeNode()));
  by_name.set_values(0, "b");
  EXPECT_FALSE(RunsOn(spec, MakeNode()));
}

TEST(DaemonNodesTest, TaintsRepelPodsUnlessTheyAreTolerated) {
  NodeView node = MakeNode();
  PodSpec spec;
  node.taints = {MakeTaint("pool", "x", "PreferNoSchedule")};
  EXPECT_TRUE(RunsOn(spec, node));
  node.taints = {MakeTaint("pool", "x", "NoExecute")};
  EXPECT_FALSE(RunsOn(spec, node));
  auto& toleration = *spec.add_tolerations();
  toleration.set_key("pool");
  toleration.set_value("y");
  EXPECT_FALSE(RunsOn(spec, node));
  toleration.set_value("x");
  EXPECT_TRUE(RunsOn(spec, node));
  toleration.set_effect("NoSchedule");
  EXPECT_FALSE(RunsOn(spec, node));
  toleration.clear_key();
  toleration.clear_value();
  toleration.clear_effect();
  toleration.set_operator_("Exists");
  EXPECT_TRUE(RunsOn(spec, node));
}

// Those that the DaemonSet controller adds to its pods.
TEST(DaemonNodesTest, WhichTaintsPodsOfDaemonSetsTolerate) {
  struct Row {
    const char* key;
    const char* effect;
    bool runs;
    bool runs_on_host_network;
  };
  const Row rows[] = {{"not-ready", "NoExecute", true, true},
                      {"not-ready", "NoSchedule", false, false},
                      {"unreachable", "NoExecute", true, true},
                      {"unreachable", "NoSchedule", false, false},
                      {"disk-pressure", "NoSchedule", true, true},
                      {"memory-pressure", "NoSchedule", true, true},
                      {"pid-pressure", "NoSchedule", true, true},
                      {"pid-pressure", "NoExecute", false, false},
                      {"unschedulable", "NoSchedule", true, true},
                      {"network-unavailable", "NoSchedule", false, true},
                      {"out-of-service", "NoExecute", false, false}};
  PodSpec host_network;
  host_network.mutable_unknown_fields()->append("\x58\x01");  // core/v1: hostNetwork: true
  PodSpec not_host_network;
  not_host_network.mutable_unknown_fields()->append(std::string("\x58\x00", 2));
  for (const Row& row : rows) {
    NodeView node = MakeNode();
    node.taints = {MakeTaint("node.kubernetes.io/" + std::string(row.key), "", row.effect)};
    EXPECT_EQ(RunsOn(PodSpec(), node), row.runs) << row.key << row.effect;
    EXPECT_EQ(RunsOn(not_host_network, node), row.runs) << row.key << row.effect;
    EXPECT_EQ(RunsOn(host_network, node), row.runs_on_host_network) << row.key << row.effect;
    EXPECT_EQ(RunsOn(NodeConstraintsOf(host_network), node), row.runs_on_host_network) << row.key;
  }
}

TEST(DaemonNodesTest, WhichPlatformANodeHas) {
  NodeView node = MakeNode();
  EXPECT_EQ(PlatformOf(node), "linux/arm64");
  node.labels[std::string(api::kOsLabel)] = "windows";
  EXPECT_EQ(PlatformOf(node), "windows/arm64");
  node.labels[std::string(api::kArchLabel)] = "no name";
  EXPECT_EQ(PlatformOf(node), "");
  node.labels.clear();
  EXPECT_EQ(PlatformOf(node), "");
}

TEST(DaemonNodesTest, WhetherImagesSupportANode) {
  CommonPlatforms images(ArchitectureSet{"amd64"});
  NodeView node = MakeNode();
  EXPECT_FALSE(SupportNode(images, node));
  node.labels[std::string(api::kArchLabel)] = "amd64";
  EXPECT_TRUE(SupportNode(images, node));
  node.labels[std::string(api::kOsLabel)] = "windows";
  EXPECT_FALSE(SupportNode(images, node));
  node.labels.clear();
  EXPECT_TRUE(SupportNode(images, node));
  CommonPlatforms every;
  every.every = true;
  EXPECT_TRUE(SupportNode(every, MakeNode()));
}

TEST(DaemonNodesTest, ReadsLabelsAndTaintsOfANode) {
  kube::core::Node node;
  node.mutable_metadata()->set_name("a");
  (*node.mutable_metadata()->mutable_labels())["pool"] = "x";
  kube::workloads::NodeSpec spec;
  *spec.add_taints() = MakeTaint("pool", "x", "NoSchedule");
  std::string bytes = node.SerializeAsString() + EncodedField(2, spec.SerializeAsString()) +
                      EncodedField(3, "no status");
  auto view = ParseNode(bytes);
  ASSERT_TRUE(view) << view.error();
  EXPECT_EQ(view->name, "a");
  EXPECT_EQ(view->Label("pool"), "x");
  EXPECT_EQ(view->Label("zone"), "");
  ASSERT_EQ(view->taints.size(), 1u);
  EXPECT_EQ(view->taints[0].effect(), "NoSchedule");
  EXPECT_THAT(ParseNode("\x0a\x7f"), FailsWith(Code::kInvalid));
  EXPECT_THAT(ParseNode(EncodedField(2, "\x2a\x7f")), FailsWith(Code::kInvalid));
}

}  // namespace
}  // namespace placement
