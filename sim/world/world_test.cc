// SPDX-License-Identifier: Apache-2.0
#include "sim/world/world.h"

#include <gtest/gtest.h>

#include "api/names.h"
#include "api/testing/make_config.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/store_commit.h"
#include "placement/gate.h"
#include "sim/programs/cluster_controller.h"
#include "sim/programs/shard.h"

namespace sim {
namespace {

using namespace std::chrono_literals;
using kube::MakePod;
using kube::core::Pod;

constexpr char kOperator[] = "operator";
constexpr char kShop[] = "shop";

// A cluster controller, and a shard of one namespace. No operator: the test writes what it would.
struct SmallWorld {
  explicit SmallWorld(uint64_t seed) : world(seed) {
    world.store().Observe([this](const kube::StoreCommit& commit) {
      commits.push_back(commit.verb + " " + commit.collection + " " + commit.key.ns + "/" +
                        commit.key.name + " by " + commit.caller.user);
    });
    world.CreateNamespaces({kOperator, kShop});
    world.registries().Set("r.io/app:1", {"amd64", "arm64"});
    kube::core::Node node;
    node.mutable_metadata()->set_name("node");
    (*node.mutable_metadata()->mutable_labels())[std::string(api::kArchLabel)] = "amd64";
    world.admin().Create(node);
    world.admin().CreateJson(kube::ResourceOf<api::ClusterPodPlacementConfig>::value,
                             api::MakeClusterConfig().Build());
    kube::Json config = api::MakeConfig("only", kShop).Prefer("arm64", 10).Build();
    world.admin().CreateJson(kube::ResourceOf<api::PodPlacementConfig>::value, config);
    AddProcess("cluster-controller/0", [this](Life& life) {
      return RunClusterController(life, {kOperator, "cluster-controller-0", &world.registries()});
    });
    AddProcess("shard/shop/0", [](Life& life) {
      return RunShard(life, {kShop, "shard-0", kOperator, "uid"});
    });
  }

  void AddProcess(const std::string& name, Process::Main main) {
    processes.push_back(&world.AddProcess({name, name}, std::move(main)));
    processes.back()->Start();
  }
  void CreatePod(const std::string& name) {
    Pod pod = MakePod(name)
                  .Namespace(kShop)
                  .Gate(api::kClusterGate)
                  .Gate(api::kLocalGate)
                  .Image("r.io/app:1");
    world.admin().Create(pod);
  }
  int Gated() {
    int gated = 0;
    for (const Pod& pod : world.admin().List<Pod>(kShop))
      gated += pod.spec().scheduling_gates_size() > 0;
    return gated;
  }

  std::vector<std::string> commits;
  World world;
  std::vector<Process*> processes;
};

TEST(WorldTest, PodsAreReleased) {
  SmallWorld small(1);
  small.world.Pass(20s);
  for (int i = 0; i < 20; ++i) small.CreatePod("pod-" + std::to_string(i));
  EXPECT_EQ(small.Gated(), 20);
  small.world.Pass(60s);
  EXPECT_EQ(small.Gated(), 0);
}

TEST(WorldTest, PodsAreReleasedWhateverFails) {
  for (int kind = 0; kind < kFaultKinds; ++kind) {
    SmallWorld small(kind + 1);
    small.world.Pass(20s);
    small.world.faults().Begin({.kind = static_cast<FaultKind>(kind), .of = "", .once_in = 3});
    for (int i = 0; i < 10; ++i) {
      small.CreatePod("pod-" + std::to_string(i));
      small.world.Pass(5s);
      small.processes[i % 2]->Kill();
      small.world.Pass(1s);
      small.processes[i % 2]->Start();
    }
    small.world.faults().End();
    small.world.Pass(10min);
    EXPECT_EQ(small.Gated(), 0) << NameOf(static_cast<FaultKind>(kind));
  }
}

std::vector<std::string> CommitsOf(uint64_t seed) {
  SmallWorld small(seed);
  small.world.faults().Begin({.kind = FaultKind::kSlow, .of = "", .once_in = 3});
  for (int i = 0; i < 5; ++i) {
    small.CreatePod("pod-" + std::to_string(i));
    small.world.Pass(3s);
  }
  small.world.Pass(60s);
  return small.commits;
}

TEST(WorldTest, ASeedGivesTheSameCommits) {
  std::vector<std::string> commits = CommitsOf(3);
  EXPECT_GT(commits.size(), 30u);
  EXPECT_EQ(CommitsOf(3), commits);
  EXPECT_NE(CommitsOf(4), commits);
}

}  // namespace
}  // namespace sim
