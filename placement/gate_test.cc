// SPDX-License-Identifier: Apache-2.0
#include "placement/gate.h"

#include <gtest/gtest.h>

#include <initializer_list>

#include "api/names.h"
#include "kube/types/core.pb.h"
#include "placement/pod_metadata.h"

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

TEST(GateTest, FindsTheGatesOfOtherControllers) {
  kube::core::Pod pod = PodWithGates({"kueue.x-k8s.io/topology", "x"});
  pod.mutable_spec()->add_scheduling_gates()->set_name(std::string(api::kClusterGate));
  pod.mutable_spec()->add_scheduling_gates()->set_name(std::string(api::kLocalGate));
  pod.mutable_spec()->add_scheduling_gates()->set_name("multiarch.openshift.io/other");
  EXPECT_EQ(OtherGates(pod), (std::vector<std::string>{"kueue.x-k8s.io/topology", "x",
                                                       "multiarch.openshift.io/other"}));
  EXPECT_TRUE(OtherGates(kube::core::Pod()).empty());
}

TEST(GateTest, DropsEveryOccurrenceAndKeepsTheOrderOfOthers) {
  kube::core::Pod pod = PodWithGates({"a", "b", "c", "b"});
  EXPECT_TRUE(DropGate(pod, "b"));
  ASSERT_EQ(pod.spec().scheduling_gates_size(), 2);
  EXPECT_EQ(pod.spec().scheduling_gates(0).name(), "a");
  EXPECT_EQ(pod.spec().scheduling_gates(1).name(), "c");
  EXPECT_EQ(LabelOf(pod, "b"), api::kRemoved);
}

TEST(GateTest, DroppingAnAbsentGateChangesNothing) {
  kube::core::Pod pod = PodWithGates({"a"});
  std::string before = pod.SerializeAsString();
  EXPECT_FALSE(DropGate(pod, "b"));
  EXPECT_EQ(pod.SerializeAsString(), before);

  kube::core::Pod bare;
  EXPECT_FALSE(DropGate(bare, "b"));
  EXPECT_FALSE(bare.has_spec());
  EXPECT_FALSE(bare.has_metadata());
}

}  // namespace
}  // namespace placement
