// SPDX-License-Identifier: Apache-2.0
// Decoding and encoding a pod, as for each watch event and each write. The argument is its size in
// KB, mostly in fields that the messages do not have.
//   bazel run //kube/codec:codec_benchmark
#include <benchmark/benchmark.h>

#include <string>

#include "kube/codec/codec.h"
#include "kube/types/core.pb.h"

namespace kube {
namespace {

core::Pod PodOf(int64_t kb) {
  core::Pod pod;
  pod.mutable_metadata()->set_name("web");
  pod.mutable_metadata()->set_namespace_("shop");
  for (int i = 0; i < 10; ++i)
    (*pod.mutable_metadata()->mutable_labels())["example.com/label-" + std::to_string(i)] = "value";
  auto* container = pod.mutable_spec()->add_containers();
  container->set_name("app");
  container->set_image("registry.example.com/shop/app:1");
  // spec.volumes, field 1, which the messages do not have; each of 100 bytes.
  for (int64_t i = 0; i < kb * 10; ++i)
    pod.mutable_spec()->mutable_unknown_fields()->append("\x0a\x64" + std::string(100, 'v'));
  return pod;
}

void BM_DecodePod(benchmark::State& state) {
  const std::string body = Encode(PodOf(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(Decode<core::Pod>(body));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * body.size()));
}
BENCHMARK(BM_DecodePod)->Arg(2)->Arg(20)->Arg(200);

void BM_EncodePod(benchmark::State& state) {
  const core::Pod pod = PodOf(state.range(0));
  size_t size = Encode(pod).size();
  for (auto _ : state) benchmark::DoNotOptimize(Encode(pod));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * size));
}
BENCHMARK(BM_EncodePod)->Arg(2)->Arg(20)->Arg(200);

}  // namespace
}  // namespace kube
