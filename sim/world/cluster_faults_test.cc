// SPDX-License-Identifier: Apache-2.0
// A whole cluster under each kind of fault, while its processes are killed.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/testing/make_config.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/types/kinds.h"
#include "sim/world/cluster.h"

namespace sim {
namespace {

using namespace std::chrono_literals;
using kube::core::Pod;

constexpr char kAnn[] = "ann";
constexpr char kShop[] = "shop";

class ClusterFaultsTest : public testing::TestWithParam<int> {
 protected:
  FaultKind kind() const { return static_cast<FaultKind>(GetParam()); }
  World& world() { return cluster_.world(); }

  int Gated() {
    int gated = 0;
    for (const Pod& pod : world().admin().List<Pod>(kShop))
      gated += pod.spec().scheduling_gates_size() > 0;
    return gated;
  }
  void CreatePod(int number) {
    Pod pod = kube::MakePod("pod-" + std::to_string(number)).Namespace(kShop).Image("r.io/app:1");
    auto created = cluster_.Call(kAnn, {.method = kube::Method::kPost,
                                        .target = kube::kPods.Path(kShop),
                                        .content_type = std::string(kube::kProtobuf),
                                        .body = kube::Encode(pod)});
    EXPECT_THAT(created, kube::IsOk());
  }

  Cluster cluster_{static_cast<uint64_t>(GetParam()), {.operators = 2}};
};

TEST_P(ClusterFaultsTest, NoPodStaysGated) {
  world().CreateNamespaces({kShop});
  world().registries().Set("r.io/app:1", {"amd64", "arm64"});
  world().admin().CreateJson(kube::ResourceOf<api::ClusterPodPlacementConfig>::value,
                             api::MakeClusterConfig().Build());
  world().admin().CreateJson(kube::ResourceOf<api::PodPlacementConfig>::value,
                             api::MakeConfig("only", kShop).Prefer("arm64", 10).Build());
  world().Pass(2min);
  world().faults().Begin({.kind = kind(), .of = "", .once_in = 3});
  for (int i = 0; i < 10; ++i) {
    CreatePod(i);
    std::vector<Process*> processes = cluster_.Processes("");
    ASSERT_FALSE(processes.empty());
    world().random().Of(processes)->Kill();
    world().Pass(world().random().Between(1s, 10s));
  }
  world().faults().End();
  world().Pass(10min);
  EXPECT_EQ(Gated(), 0);
}

std::string KindOf(const testing::TestParamInfo<int>& info) {
  return std::string(NameOf(static_cast<FaultKind>(info.param)));
}

INSTANTIATE_TEST_SUITE_P(Kinds, ClusterFaultsTest, testing::Range(0, kFaultKinds), KindOf);

}  // namespace
}  // namespace sim
