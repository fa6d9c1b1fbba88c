// SPDX-License-Identifier: Apache-2.0
#include "plugin/pod/node_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "api/names.h"
#include "kube/testing/make_pod.h"

namespace plugin {
namespace {

using kube::MakePod;
using kube::core::Pod;
using placement::NodeView;

NodeView MakeNode(const std::string& name, const std::string& architecture,
                  const std::string& taint = "") {
  NodeView node{.name = name, .labels = {{std::string(api::kArchLabel), architecture}}};
  if (!taint.empty()) {
    kube::workloads::Taint& added = node.taints.emplace_back();
    added.set_key(taint);
    added.set_effect("NoSchedule");
  }
  return node;
}

TEST(NodeFitTest, NamesWhatKeepsThePodAway) {
  struct Row {
    const char* name;
    Pod pod;
    NodeView node;
    Misfit misfit;
    const char* why;
  };
  const Row rows[] = {
      {"everywhere", MakePod("p"), MakeNode("n", "amd64"), Misfit::kNone, ""},
      {"the architecture", MakePod("p").Requires(api::kArchLabel, "In", {"arm64"}),
       MakeNode("n", "arm64"), Misfit::kNone, ""},
      {"another architecture", MakePod("p").Requires(api::kArchLabel, "In", {"arm64"}),
       MakeNode("n", "amd64"), Misfit::kArchitecture, "its architecture is amd64"},
      {"another one, by selector", MakePod("p").NodeSelector(api::kArchLabel, "arm64"),
       MakeNode("n", "amd64"), Misfit::kArchitecture, "its architecture is amd64"},
      {"a label", MakePod("p").NodeSelector("zone", "a"), MakeNode("n", "amd64"), Misfit::kLabels,
       "its labels are not those that the pod selects"},
      {"a label and the architecture",
       MakePod("p").NodeSelector("zone", "a").Requires(api::kArchLabel, "In", {"arm64"}),
       MakeNode("n", "amd64"), Misfit::kLabels, "its labels are not those that the pod selects"},
      {"a taint", MakePod("p"), MakeNode("n", "amd64", "spot"), Misfit::kTaint,
       "the pod does not tolerate its taint spot:NoSchedule"},
      {"no architecture",
       MakePod("p").Requires(api::kArchLabel, "In", {"arm64"}),
       {.name = "n"},
       Misfit::kArchitecture,
       "its architecture is not known"},
  };
  for (const Row& row : rows) {
    NodeFit fit = FitOf(row.pod.spec(), row.node);
    EXPECT_EQ(fit.misfit, row.misfit) << row.name;
    EXPECT_EQ(fit.why, row.why) << row.name;
  }
}

TEST(NodeFitTest, CountsNodesByWhatKeepsThePodAway) {
  const std::vector<NodeView> nodes = {MakeNode("a", "amd64"), MakeNode("b", "amd64"),
                                       MakeNode("c", "arm64"), MakeNode("d", "arm64", "spot")};
  const Pod pod = MakePod("p").Requires(api::kArchLabel, "In", {"arm64"});
  FitSummary summary = Summarize(pod.spec(), nodes);
  EXPECT_EQ(summary.fitting, 1u);
  EXPECT_THAT(summary.others[Misfit::kArchitecture]["its architecture is amd64"],
              testing::ElementsAre("a", "b"));
  EXPECT_EQ(summary.others[Misfit::kTaint].size(), 1u);
}

}  // namespace
}  // namespace plugin
