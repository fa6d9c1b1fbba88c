// SPDX-License-Identifier: Apache-2.0
// The decision about one pod, by the shard and by the cluster controller, without the write. Each
// iteration needs a new pod; BM_CopyPod is that share.
//   bazel run //placement:release_benchmark
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "api/names.h"
#include "api/testing/make_config.h"
#include "kube/testing/make_pod.h"
#include "placement/release.h"

namespace placement {
namespace {

// As a Deployment creates it, with three containers.
kube::core::Pod GatedPod(bool local) {
  kube::MakePod pod("web-6d4b75cb6d-hwxyz");
  pod.Owner("apps/v1", "ReplicaSet", "web-6d4b75cb6d").ServiceAccount("web");
  for (const char* key : {"app", "tier", "team", "pod-template-hash"}) pod.Label(key, "value");
  for (const char* image : {"app:1", "proxy:2", "log:3"})
    pod.Image(std::string("registry.example.com/shop/") + image, "IfNotPresent");
  pod.Gate(api::kClusterGate);
  if (local) pod.Gate(api::kLocalGate);
  return pod;
}

std::vector<api::PodPlacementConfig> MakeConfigs(int count) {
  std::vector<api::PodPlacementConfig> configs;
  for (int i = 0; i < count; ++i) {
    configs.push_back(api::MakeConfig("config-" + std::to_string(i))
                          .Priority(i)
                          .ForLabel("app", "value")
                          .Prefer("arm64", 75)
                          .Prefer("amd64", 25));
  }
  return configs;
}

void BM_CopyPod(benchmark::State& state) {
  const kube::core::Pod gated = GatedPod(true);
  for (auto _ : state) {
    kube::core::Pod pod = gated;
    benchmark::DoNotOptimize(pod);
  }
}
BENCHMARK(BM_CopyPod);

// By the shard, with so many PodPlacementConfigs that select the pod.
void BM_ReleaseLocal(benchmark::State& state) {
  const kube::core::Pod gated = GatedPod(true);
  const auto configs = MakeConfigs(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    kube::core::Pod pod = gated;
    benchmark::DoNotOptimize(ReleaseLocal(pod, ConfigsFor(pod, configs)));
  }
}
BENCHMARK(BM_ReleaseLocal)->Arg(1)->Arg(10)->Arg(50);

void BM_ReleaseCluster(benchmark::State& state) {
  const kube::core::Pod gated = GatedPod(false);
  const ClusterDecision decision{.platforms = ArchitectureSet{"amd64", "arm64"}};
  for (auto _ : state) {
    kube::core::Pod pod = gated;
    benchmark::DoNotOptimize(ReleaseCluster(pod, decision));
  }
}
BENCHMARK(BM_ReleaseCluster);

}  // namespace
}  // namespace placement
