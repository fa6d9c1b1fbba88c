// SPDX-License-Identifier: Apache-2.0
#include "placement/gate.h"

#include <gtest/gtest.h>

#include <initializer_list>

#include "kube/types/core.pb.h"

namespace placement {
namespace {

kube::core::Pod PodWithGates(std::initializer_list<const char*> gates) {
  kube::core::Pod pod;
  for (const char* gate : gates) pod.mutable_spec()->add_scheduling_gates()->set_name(gate);
  return pod;
}

TEST(GateTest, FindsAGateByItsWholeName) {
  kube::core::Pod pod = PodWithGates({"example.com/a", "example.com/b"});
  EXPECT_TRUE(HasGate(pod, "example.com/b"));
  EXPECT_FALSE(HasGate(pod, "example.com"));
  EXPECT_FALSE(HasGate(kube::core::Pod(), "example.com/a"));
}

TEST(GateTest, RemovesOneGateAndKeepsTheOrderOfOthers) {
  kube::core::Pod pod = PodWithGates({"a", "b", "c", "b"});
  EXPECT_TRUE(RemoveGate(pod, "b"));
  ASSERT_EQ(pod.spec().scheduling_gates_size(), 2);
  EXPECT_EQ(pod.spec().scheduling_gates(0).name(), "a");
  EXPECT_EQ(pod.spec().scheduling_gates(1).name(), "c");
}

TEST(GateTest, RemovingAnAbsentGateChangesNothing) {
  kube::core::Pod pod = PodWithGates({"a"});
  std::string before = pod.SerializeAsString();
  EXPECT_FALSE(RemoveGate(pod, "b"));
  EXPECT_EQ(pod.SerializeAsString(), before);

  kube::core::Pod bare;
  EXPECT_FALSE(RemoveGate(bare, "b"));
  EXPECT_FALSE(bare.has_spec());
}

}  // namespace
}  // namespace placement
