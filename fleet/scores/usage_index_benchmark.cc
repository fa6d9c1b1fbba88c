// SPDX-License-Identifier: Apache-2.0
// A member cluster of 5,000 nodes and 100,000 pods in 10,000 workloads: the memory of its index,
// and the time of one pod event and of one reading of the scores.
//   bazel run //fleet/scores:usage_index_benchmark
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <cstdio>
#include <memory>
#include <string>

#include "fleet/scores/scores.h"
#include "fleet/scores/usage_index.h"

namespace fleet {
namespace {

constexpr int kNodes = 5'000;
constexpr int kPods = 100'000;
constexpr int kWorkloads = 10'000;

std::string UidOf(int pod) {
  char uid[37];
  std::snprintf(uid, sizeof uid, "%08x-e29b-41d4-a716-446655440000", pod);
  return uid;
}

PodUsage UsageOf(int pod) {
  return {.node = "node-" + std::to_string(pod % kNodes),
          .requests = {.milli_cpu = 100, .kib = 1 << 18},
          .workload = "shop/Deployment/web-" + std::to_string(pod % kWorkloads),
          .architectures = 2};
}

std::unique_ptr<UsageIndex> FullIndex() {
  auto index = std::make_unique<UsageIndex>();
  for (int i = 0; i < kNodes; ++i) {
    index->SetNode("node-" + std::to_string(i), {.architecture = i % 2 == 0 ? 1 : 3,
                                                 .usable = true,
                                                 .allocatable = {64'000, int64_t{1} << 28}});
  }
  for (int i = 0; i < kPods; ++i) index->SetPod(UidOf(i), UsageOf(i));
  return index;
}

void BM_Fill(benchmark::State& state) {
  size_t bytes = 0;
  for (auto _ : state) {
    size_t before = mallinfo2().uordblks;
    auto index = FullIndex();
    bytes = mallinfo2().uordblks - before;
  }
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(BM_Fill)->Unit(benchmark::kMillisecond);

void BM_PodEvent(benchmark::State& state) {
  auto index = FullIndex();
  int pod = 0;
  for (auto _ : state) {
    PodUsage usage = UsageOf(pod);
    usage.requests.milli_cpu += state.iterations() % 2;
    index->SetPod(UidOf(pod), usage);
    pod = (pod + 7919) % kPods;
  }
}
BENCHMARK(BM_PodEvent);

void BM_Scores(benchmark::State& state) {
  auto index = FullIndex();
  for (auto _ : state) benchmark::DoNotOptimize(ScoresOf(index->sums(), {}));
}
BENCHMARK(BM_Scores);

}  // namespace
}  // namespace fleet
