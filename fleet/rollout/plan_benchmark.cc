// SPDX-License-Identifier: Apache-2.0
// A plan for 5,000 clusters in 100 decision groups, half of them with the newest objects.
//   bazel run //fleet/rollout:plan_benchmark
#include <benchmark/benchmark.h>

#include <string>

#include "fleet/rollout/plan.h"

namespace fleet {
namespace {

void BM_Plan(benchmark::State& state) {
  constexpr int kClusters = 5'000;
  constexpr int kGroups = 100;
  const kube::WallTime now{std::chrono::hours(1000)};
  PlacementRollout placement{.name = "p"};
  placement.strategy.type = static_cast<RolloutType>(state.range(0));
  placement.strategy.max_concurrency = ClusterCount{.value = 10, .percent = true};
  placement.groups.resize(kGroups);
  std::map<std::string, ClusterWork> works;
  for (int i = 0; i < kClusters; ++i) {
    DecidedGroup& group = placement.groups[i % kGroups];
    group.index = i % kGroups;
    group.clusters.push_back("cluster-" + std::to_string(10'000 + i));
    works[group.clusters.back()] = {.hash = i % 2 == 0 ? "new" : "old",
                                    .given_at = now - std::chrono::hours(1),
                                    .phase = WorkPhase::kSucceeded};
  }
  for (auto _ : state) benchmark::DoNotOptimize(PlanRollout({&placement, 1}, works, "new", now));
}
BENCHMARK(BM_Plan)->DenseRange(0, 2)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fleet
