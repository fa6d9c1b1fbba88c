// SPDX-License-Identifier: Apache-2.0
#include "plugin/report/amount.h"

#include <gtest/gtest.h>

#include "plugin/report/resources.pb.h"

namespace plugin {
namespace {

constexpr double kMiB = 1024.0 * 1024;

void Request(resources::Container& container, const char* cpu, const char* memory) {
  auto& requests = *container.mutable_resources()->mutable_requests();
  requests["cpu"].set_string(cpu);
  requests["memory"].set_string(memory);
}

Amount Of(const resources::Pod& pod) { return *RequestsOf(pod.SerializeAsString()); }

TEST(AmountTest, ContainersTogether) {
  resources::Pod pod;
  Request(*pod.mutable_spec()->add_containers(), "250m", "64Mi");
  Request(*pod.mutable_spec()->add_containers(), "1", "128Mi");
  EXPECT_EQ(Of(pod), (Amount{1.25, 192 * kMiB}));
  (*pod.mutable_spec()->mutable_overhead())["cpu"].set_string("100m");
  EXPECT_EQ(Of(pod), (Amount{1.35, 192 * kMiB}));
}

TEST(AmountTest, InitContainersRunBefore) {
  resources::Pod pod;
  Request(*pod.mutable_spec()->add_containers(), "1", "64Mi");
  resources::Container& sidecar = *pod.mutable_spec()->add_init_containers();
  sidecar.set_restart_policy("Always");
  Request(sidecar, "500m", "10Mi");
  Request(*pod.mutable_spec()->add_init_containers(), "2", "20Mi");
  EXPECT_EQ(Of(pod), (Amount{2.5, 74 * kMiB}));
}

TEST(AmountTest, WhatIsNoQuantityIsNothing) {
  resources::Pod pod;
  Request(*pod.mutable_spec()->add_containers(), "-1", "x");
  EXPECT_EQ(Of(pod), Amount());
  EXPECT_EQ(Of({}), Amount());
  EXPECT_FALSE(RequestsOf("\x0a\xff"));
}

TEST(AmountTest, Nodes) {
  resources::Node node;
  (*node.mutable_status()->mutable_allocatable())["cpu"].set_string("3920m");
  (*node.mutable_status()->mutable_allocatable())["memory"].set_string("1Gi");
  EXPECT_EQ(*AllocatableOf(node.SerializeAsString()), (Amount{3.92, 1024 * kMiB}));
}

TEST(AmountTest, ForPeople) {
  EXPECT_EQ(DescribeCpu(0.25), "0.25");
  EXPECT_EQ(DescribeCpu(12.5), "12.5");
  EXPECT_EQ(DescribeMemory(1536 * kMiB), "1.5");
}

}  // namespace
}  // namespace plugin
