// SPDX-License-Identifier: Apache-2.0
#include "operator/node_taints/architecture_taint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/testing/matchers.h"
#include "operator/node_taints/testing/make_node.h"

namespace operator_ {
namespace {

using kube::Code;
using kube::FailsWith;

// "node kubernetes.io/arch=arm64:NoSchedule", or "none".
std::string Found(const kube::core::Node& node) {
  auto taint = FindArchitectureTaint(node.SerializeAsString());
  if (!taint) return taint.error().message();
  return *taint ? (*taint)->node + " " + (*taint)->ToString() : "none";
}

TEST(ArchitectureTaintTest, IsOfTheNodesOwnArchitectureAndRepelsPods) {
  struct Row {
    const char* name;
    kube::core::Node node;
    const char* found;
  };
  const Row rows[] = {
      {"no taint", MakeNode("a", "arm64"), "none"},
      {"the usual one", MakeNode("a", "arm64", {{.value = "arm64"}}),
       "a kubernetes.io/arch=arm64:NoSchedule"},
      {"NoExecute", MakeNode("a", "riscv64", {{.value = "riscv64", .effect = "NoExecute"}}),
       "a kubernetes.io/arch=riscv64:NoExecute"},
      {"a preference", MakeNode("a", "arm64", {{.value = "arm64", .effect = "PreferNoSchedule"}}),
       "none"},
      {"of another architecture", MakeNode("a", "arm64", {{.value = "amd64"}}), "none"},
      {"without a value", MakeNode("a", "arm64", {{.value = ""}}), "none"},
      {"of another key", MakeNode("a", "arm64", {{.key = "pool", .value = "arm64"}}), "none"},
      {"of a node without the label", MakeNode("a", "", {{.value = "arm64"}}), "none"},
      {"the second one",
       MakeNode("a", "arm64",
                {{.key = "pool", .value = "x"},
                 {.value = "arm64", .effect = "PreferNoSchedule"},
                 {.value = "amd64"},
                 {.value = "arm64", .effect = "NoExecute"}}),
       "a kubernetes.io/arch=arm64:NoExecute"},
      {"an empty node", {}, "none"},
  };
  for (const Row& row : rows) EXPECT_EQ(Found(row.node), row.found) << row.name;
}

TEST(ArchitectureTaintTest, RefusesWhatIsNoNode) {
  std::string node = MakeNode("a", "arm64", {{.value = "arm64"}}).SerializeAsString();
  EXPECT_THAT(FindArchitectureTaint("\x0a\x7f"), FailsWith(Code::kInvalid));
  EXPECT_THAT(FindArchitectureTaint("{\"kind\": \"Node\"}"), FailsWith(Code::kInvalid));
  // A spec, and a taint, that end too early.
  EXPECT_THAT(FindArchitectureTaint(std::string("\x12\x02\x2a\x05", 4)), FailsWith(Code::kInvalid));
  EXPECT_THAT(FindArchitectureTaint(std::string("\x12\x04\x2a\x02\x0a\x05", 6)),
              FailsWith(Code::kInvalid));
  for (size_t size = 0; size < node.size(); ++size) {
    auto cut = FindArchitectureTaint(node.substr(0, size));
    EXPECT_TRUE(!cut || !*cut || **cut == **FindArchitectureTaint(node)) << size;
  }
}

}  // namespace
}  // namespace operator_
