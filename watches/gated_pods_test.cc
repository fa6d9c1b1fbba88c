// SPDX-License-Identifier: Apache-2.0
#include "watches/gated_pods.h"

#include <gtest/gtest.h>

#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"

namespace watches {
namespace {

using kube::FailsWith;
using kube::MakePod;
using kube::Result;
using kube::core::Pod;

constexpr char kGate[] = "example.com/gate";

// What the cache would hold of `bytes`, decoded again; nullopt for a pod that it leaves out.
Result<std::optional<Pod>> Pack(const std::string& bytes) {
  Result<std::optional<std::string>> packed = GatedPods("ns", {kGate}).pack(bytes);
  if (!packed) return packed.error();
  if (!*packed) return std::optional<Pod>();
  Pod pod;
  EXPECT_TRUE(pod.ParseFromString(**packed));
  return std::optional<Pod>(std::move(pod));
}

Pod Waiting() {
  return MakePod("web").Label("app", "web").Gate("other.io/gate").Gate(kGate).Image("r.io/app:1");
}

TEST(GatedPodsTest, HoldsOnlyPodsWithTheGate) {
  EXPECT_TRUE(*Pack(Waiting().SerializeAsString()));
  EXPECT_FALSE(
      *Pack(Pod(MakePod("web").Gate("other.io/gate").Image("r.io/app:1")).SerializeAsString()));
  EXPECT_FALSE(*Pack(Pod(MakePod("web")).SerializeAsString()));
  EXPECT_FALSE(*Pack("")) << "no spec at all";
}

TEST(GatedPodsTest, HoldsPodsWithOneOfSeveralGates) {
  auto pack = GatedPods("", {kGate, "example.com/second"}).pack;
  EXPECT_TRUE(*pack(Waiting().SerializeAsString()));
  EXPECT_TRUE(*pack(Pod(MakePod("web").Gate("example.com/second")).SerializeAsString()));
  EXPECT_FALSE(*pack(Pod(MakePod("web").Gate("other.io/gate")).SerializeAsString()));
}

TEST(GatedPodsTest, HoldsTheFieldsThatAWriteNeeds) {
  Pod pod = Waiting();
  // On each level an unknown field: number 1999, "far".
  const std::string unnamed(
      "\xfa\x7c\x03"
      "far");
  pod.mutable_unknown_fields()->append(unnamed);
  pod.mutable_metadata()->mutable_unknown_fields()->append(unnamed);
  pod.mutable_spec()->mutable_unknown_fields()->append(unnamed);
  pod.clear_status();
  std::string needed = pod.SerializeAsString();
  pod.mutable_metadata()->add_managed_fields("who wrote what");
  pod.mutable_status()->set_phase("Pending");

  Result<std::optional<Pod>> held = Pack(pod.SerializeAsString());
  ASSERT_TRUE(held && *held);
  EXPECT_EQ((*held)->SerializeAsString(), needed);
}

TEST(GatedPodsTest, AStubIsSmallAndIdentifiesThePod) {
  Pod pod = MakePod("web")
                .Namespace("shop")
                .Uid("u-1")
                .ResourceVersion("7")
                .Gate("other.io/gate")
                .Gate(kGate);
  for (int i = 0; i < 10'000; ++i) {
    (*pod.mutable_metadata()->mutable_labels())["label" + std::to_string(i)] = "x";
    pod.mutable_spec()->add_containers()->set_name("c" + std::to_string(i));
    pod.mutable_spec()->add_scheduling_gates()->set_name("other.io/gate" + std::to_string(i));
  }
  kube::InformerOptions<Pod> options = GatedPods("shop", {kGate});
  Result<std::optional<std::string>> packed = options.pack(pod.SerializeAsString());
  ASSERT_TRUE(packed && *packed);
  std::string bytes = options.stub(**packed);
  EXPECT_LT(bytes.size(), 200u);
  Pod stub;
  ASSERT_TRUE(stub.ParseFromString(bytes));
  Pod expected = MakePod("web").Namespace("shop").Uid("u-1").ResourceVersion("7").Gate(kGate);
  expected.clear_status();
  EXPECT_EQ(stub.SerializeAsString(), expected.SerializeAsString());
}

TEST(GatedPodsTest, RefusesBytesThatAreNoPod) {
  std::string bytes = Waiting().SerializeAsString();
  EXPECT_THAT(Pack(bytes.substr(0, bytes.size() - 1)), FailsWith(kube::Code::kInvalid));
  EXPECT_THAT(Pack("\x0a\x02\xff\xff"), FailsWith(kube::Code::kInvalid)) << "its metadata";
  EXPECT_THAT(Pack("\x12\x02\xff\xff"), FailsWith(kube::Code::kInvalid)) << "its spec";
}

}  // namespace
}  // namespace watches
