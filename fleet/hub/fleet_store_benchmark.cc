// SPDX-License-Identifier: Apache-2.0
// The time and the memory of a hub with 5,000 clusters and 500 Placements, without its API calls.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "fleet/hub/decision_writes.h"
#include "fleet/hub/fleet_store.h"
#include "fleet/hub/wanted_pages.h"
#include "fleet/scheduling/schedule.h"
#include "fleet/testing/make_object.h"
#include "kube/base/clock.h"
#include "kube/types/unstructured.h"

namespace fleet {
namespace {

using kube::Json;
using kube::ObjectKey;

constexpr int kClusters = 5000;
constexpr int kPlacementCount = 500;

class NoCel final : public CelSelectors {
 public:
  std::optional<std::string> Check(const std::string&) override { return "no CEL here"; }
  Verdict Matches(const std::vector<std::string>&, const std::string&) override { return {}; }
};

// The resident memory of this process in MiB.
double ResidentMemory() {
  std::ifstream statm("/proc/self/statm");
  uint64_t size = 0;
  uint64_t resident = 0;
  statm >> size >> resident;
  return static_cast<double>(resident) * 4096 / (1 << 20);
}

Json ClusterJson(int number) {
  MakeObject cluster =
      MakeManagedCluster("cluster-" + std::to_string(number)).Label(kClusterSetLabel, "default");
  for (int i = 0; i < 12; ++i) {
    cluster.Label("example.com/label-" + std::to_string(i),
                  "value-" + std::to_string(number % (i + 2)));
  }
  Json claims = Json::array();
  for (int i = 0; i < 12; ++i) {
    claims.push_back({{"name", "claim-" + std::to_string(i) + ".example.com"},
                      {"value", "value-" + std::to_string(number % (i + 3))}});
  }
  return cluster.Set("/status",
                     {{"clusterClaims", claims},
                      {"allocatable", {{"cpu", std::to_string(number % 97)}, {"memory", "64Gi"}}},
                      {"capacity", {{"cpu", "128"}, {"memory", "64Gi"}}}});
}

// `selected`: of each Placement; 0 selects all clusters.
Json PlacementJson(int number, int selected) {
  Json spec = {
      {"prioritizerPolicy",
       {{"configurations", {{{"scoreCoordinate", {{"builtIn", "ResourceAllocatableCPU"}}}}}}}}};
  if (selected != 0) {
    spec["numberOfClusters"] = selected;
    spec["predicates"] = {
        {{"requiredClusterSelector",
          {{"labelSelector",
            {{"matchLabels",
              {{"example.com/label-" + std::to_string(number % 4), "value-1"}}}}}}}}};
  }
  return MakePlacement("ns-" + std::to_string(number % 50), "placement-" + std::to_string(number))
      .Set("/metadata/uid", "00000000-0000-0000-0000-" + std::to_string(100000000000 + number))
      .Set("/metadata/resourceVersion", "1")
      .Set("/spec", std::move(spec));
}

struct Hub {
  explicit Hub(int selected) {
    store.Put(MakeClusterSet("default").As<ManagedClusterSet>());
    for (int i = 0; i < 50; ++i) {
      store.Put(
          MakeSetBinding("ns-" + std::to_string(i), "default").As<ManagedClusterSetBinding>());
    }
    for (int i = 0; i < kClusters; ++i) store.Put(ManagedCluster::FromJson(ClusterJson(i)).value());
    for (int i = 0; i < kPlacementCount; ++i) {
      Placement placement = Placement::FromJson(PlacementJson(i, selected)).value();
      keys.push_back({placement.ns, placement.name});
      store.Put(std::move(placement));
    }
    store.WakeAll();
  }

  // One pass, as the reconciler makes it. Stores what it would write.
  size_t Pass(const ObjectKey& key) {
    const Placement& placement = *store.Find(key);
    Scheduled result = Schedule(placement, store.decisions().OwnOf(key), store.fleet(),
                                kube::RealClock().WallNow(), cel);
    WantedDecisions wanted = WantedOf(placement, result.groups);
    std::vector<StoredPage> stored =
        store.decisions().PagesOf(key, placement.uid, wanted.pages.size());
    KeepPages(key.name, stored, wanted.pages);
    std::vector<DecisionWrite> plan = PlanDecisionWrites(key.name, stored, wanted.pages);
    for (size_t i = 0; !plan.empty() && i < wanted.pages.size(); ++i) {
      store.PutWritten(PlacementDecision{.ns = key.ns,
                                         .name = DecisionName(key.name, i + 1),
                                         .uid = "00000000-0000-0000-0000-000000000000",
                                         .resource_version = "1",
                                         .owner_uid = placement.uid,
                                         .placement = key.name,
                                         .group_index = wanted.pages[i].group.index,
                                         .group_name = wanted.pages[i].group.name,
                                         .decisions = wanted.pages[i].decisions});
    }
    return plan.size();
  }

  NoCel cel;
  size_t woken = 0;
  FleetStore store{kube::RealClock(), [this](const ObjectKey&) { ++woken; }};
  std::vector<ObjectKey> keys;
};

// All Placements, when nothing has changed. Argument: clusters that each selects, 0 for all.
void BM_FullPass(benchmark::State& state) {
  auto hub = std::make_unique<Hub>(static_cast<int>(state.range(0)));
  for (const ObjectKey& key : hub->keys) hub->Pass(key);
  // Balance reads what the others decided.
  for (int i = 0; i < 5; ++i) {
    size_t writes = 0;
    for (const ObjectKey& key : hub->keys) writes += hub->Pass(key);
    if (writes == 0) break;
  }
  size_t writes = 0;
  for (auto _ : state) {
    for (const ObjectKey& key : hub->keys) writes += hub->Pass(key);
  }
  state.counters["writes"] = static_cast<double>(writes);
  state.counters["MiB"] = ResidentMemory();
}
BENCHMARK(BM_FullPass)->Arg(10)->Arg(0)->Unit(benchmark::kMillisecond)->Iterations(1);

// A cluster that gets a taint: which Placements are woken.
void BM_ClusterChange(benchmark::State& state) {
  auto hub = std::make_unique<Hub>(10);
  ManagedCluster cluster = ManagedCluster::FromJson(ClusterJson(7)).value();
  ManagedCluster tainted = cluster;
  tainted.taints.push_back({.key = "k", .effect = std::string(kNoSelect)});
  hub->woken = 0;
  for (auto _ : state) {
    hub->store.Put(tainted);
    hub->store.Put(cluster);
  }
  state.counters["woken"] =
      static_cast<double>(hub->woken) / (2 * static_cast<double>(state.iterations()));
}
BENCHMARK(BM_ClusterChange)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace fleet
