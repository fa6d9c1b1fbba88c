// SPDX-License-Identifier: Apache-2.0
// One pass over 5,000 clusters, for usual and for hostile Placements.
//   bazel run //fleet/scheduling:schedule_benchmark
#include <benchmark/benchmark.h>

#include <string>

#include "fleet/scheduling/schedule.h"
#include "fleet/scheduling/testing/world.h"

namespace fleet {
namespace {

constexpr int kClusters = 5000;

// Clusters as they are in a fleet: ten labels, ten claims, a score, some decisions and taints.
World LargeWorld() {
  World world(0);
  world.fleet.sets["global"].selects = ManagedClusterSet::Selects::kByLabel;
  for (int i = 0; i < kClusters; ++i) {
    const std::string name = "cluster-" + std::to_string(10'000 + i);
    world.Add(name);
    std::map<std::string, std::string> labels = {
        {std::string(kClusterSetLabel), "global"},
        {"name", name},
        {"region", "region-" + std::to_string(i % 20)},
        {"zone", "zone-" + std::to_string(i % 60)},
        {"pair", "pair-" + std::to_string(i / 2)},
        {"environment", i % 3 == 0 ? "production" : "test"}};
    for (int l = 0; l < 4; ++l) labels["example.com/label-" + std::to_string(l)] = "value";
    std::map<std::string, std::string> claims = {{"id.k8s.io", name}};
    for (int c = 0; c < 9; ++c)
      claims["claim-" + std::to_string(c) + ".example.com"] = "value-" + std::to_string(i % 7);
    ManagedCluster& cluster = world.At(name);
    cluster.labels = Properties(labels);
    cluster.claims = Properties(claims);
    cluster.allocatable_cpu = i % 97;
    cluster.allocatable_memory = i % 89;
    world.ScoreOf(name).scores["s"] = i % 101;
    if (i % 50 == 0) world.Taint(name, {.key = "gpu", .value = "true", .effect = "NoSelect"});
    world.Others(name, i % 5);
    if (i % 10 == 0) world.Own(name);
  }
  return world;
}

void Run(benchmark::State& state, World& world) {
  int64_t selected = 0;
  for (auto _ : state) {
    Scheduled result = world.Run();
    selected = result.selected;
    benchmark::DoNotOptimize(result);
  }
  state.counters["selected"] = static_cast<double>(selected);
}

// All clusters of the sets.
void BM_Everything(benchmark::State& state) {
  World world = LargeWorld();
  Run(state, world);
}
BENCHMARK(BM_Everything)->Unit(benchmark::kMillisecond);

// What users write: a predicate, an add-on score, a toleration, ten clusters.
void BM_Typical(benchmark::State& state) {
  World world = LargeWorld();
  world.N(10).BuiltIn(kResourceAllocatableMemory).AddOn();
  world.Tolerate({.key = "gpu", .op = "Exists"});
  world.placement.spec.predicates = {{.labels = Having("environment", {"production"})}};
  Run(state, world);
}
BENCHMARK(BM_Typical)->Unit(benchmark::kMillisecond);

void BM_SpreadOverRegionsAndZones(benchmark::State& state) {
  World world = LargeWorld();
  world.N(static_cast<int32_t>(state.range(0)));
  world.placement.spec.spread = {{.key = "region", .do_not_schedule = true}, {.key = "zone"}};
  Run(state, world);
}
BENCHMARK(BM_SpreadOverRegionsAndZones)->Arg(10)->Arg(kClusters)->Unit(benchmark::kMillisecond);

// 100 predicates with 500 requirements that almost match, on few keys or on many; 100 tolerations.
void BM_HostilePredicates(benchmark::State& state) {
  const bool many_keys = state.range(0) != 0;
  World world = LargeWorld();
  for (int p = 0; p < 100; ++p) {
    ClusterSelector selector;
    for (int e = 0; e < 4; ++e) {
      auto& expression = *selector.labels.add_match_expressions();
      expression.set_key(many_keys ? "key-" + std::to_string(4 * p + e) : "name");
      expression.set_operator_("NotIn");
      for (int v = 0; v < 500; ++v) {
        const int listed = (500 * (4 * p + e) + v) % kClusters + (v % 2) * kClusters;
        expression.add_values("cluster-" + std::to_string(10'000 + listed));
      }
    }
    *selector.claims.add_match_expressions() =
        Having(p == 99 ? "id.k8s.io" : "absent").match_expressions(0);
    world.placement.spec.predicates.push_back(std::move(selector));
  }
  for (int t = 0; t < 100; ++t) world.Tolerate({.key = t == 99 ? "gpu" : "other", .op = "Exists"});
  Run(state, world);
}
BENCHMARK(BM_HostilePredicates)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

// 8 spread constraints, of which the first has thousands of domains, or few; every weight.
void BM_HostileSpread(benchmark::State& state) {
  static constexpr const char* kFirstKeys[] = {"name", "pair", "zone", "region"};
  World world = LargeWorld();
  const std::string first = kFirstKeys[state.range(0)];
  PlacementSpec& spec = world.placement.spec;
  for (const std::string& key :
       {first, std::string("pair"), std::string("zone"), std::string("region"),
        std::string("environment"), std::string("name"), std::string("zone"), std::string("pair")})
    spec.spread.push_back({.key = key, .max_skew = 1000, .do_not_schedule = true});
  world.N(kClusters).BuiltIn(kSpread, static_cast<int32_t>(state.range(1)));
  world.BuiltIn(kResourceAllocatableCpu, 10).BuiltIn(kResourceAllocatableMemory, -7);
  state.SetLabel(first);
  Run(state, world);
}
BENCHMARK(BM_HostileSpread)
    ->ArgsProduct({{0, 1, 2, 3}, {-10, 0, 2, 10}})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fleet
