// SPDX-License-Identifier: Apache-2.0
// Unpacking a layer in pieces of 16 KiB, as they come from a registry. The cluster controller does
// this between its other work: the longest piece is what that waits for.
//   bazel run //exec-format/entrypoint:layer_tar_benchmark
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "exec-format/entrypoint/layer_tar.h"
#include "exec-format/testing/make_layer.h"

namespace exec_format {
namespace {

constexpr size_t kPiece = 16u << 10;

void Unpack(benchmark::State& state, const std::string& layer) {
  double longest = 0;
  uint64_t unpacked = 0;
  for (auto _ : state) {
    LayerTar tar([](const LayerEntry&) -> kube::Result<> { return kube::Ok(); });
    kube::Result<> pushed = kube::Ok();
    for (size_t at = 0; at < layer.size() && pushed; at += kPiece) {
      const auto began = std::chrono::steady_clock::now();
      pushed = tar.Push(std::string_view(layer).substr(at, kPiece));
      const std::chrono::duration<double, std::milli> took =
          std::chrono::steady_clock::now() - began;
      longest = std::max(longest, took.count());
    }
    benchmark::DoNotOptimize(pushed);
    unpacked = tar.unpacked_bytes();
  }
  state.counters["packed_MiB"] = static_cast<double>(layer.size()) / (1 << 20);
  state.counters["unpacked_MiB"] = static_cast<double>(unpacked) / (1 << 20);
  state.counters["longest_piece_ms"] = longest;
}

// Half of it can be compressed, as in programs.
std::string Program(size_t size) {
  std::string bytes;
  uint64_t random = 88172645463325252u;
  while (bytes.size() < size) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    bytes.append(reinterpret_cast<const char*>(&random), sizeof random);
    bytes.append("\0\0\0\0\0\0\0\0", 8);
  }
  return bytes;
}

void BM_Programs(benchmark::State& state) {
  LayerMaker maker;
  const std::string program = Program(4u << 20);
  for (int i = 0; i < 16; ++i) maker.File("bin/" + std::to_string(i), program);
  Unpack(state, Gzip(maker.Make()));
}
BENCHMARK(BM_Programs)->Unit(benchmark::kMillisecond);

// A hostile layer: almost only zeros, which unpacks to as much as is allowed.
std::string AlmostZeros() {
  const std::string noise = Program(2u << 20);
  std::string bytes;
  for (size_t at = 0; bytes.size() < (64u << 20); at += 700) {
    bytes += noise.substr(at % (1u << 20), 700);
    bytes.append((64u << 10) - 700, '\0');
  }
  LayerMaker maker;
  for (int i = 0; i < 16; ++i) maker.File("z/" + std::to_string(i), bytes);
  return maker.Make();
}

void BM_AlmostZeros(benchmark::State& state) { Unpack(state, Gzip(AlmostZeros())); }
BENCHMARK(BM_AlmostZeros)->Unit(benchmark::kMillisecond);

void BM_AlmostZerosOfZstd(benchmark::State& state) { Unpack(state, Zstd(AlmostZeros())); }
BENCHMARK(BM_AlmostZerosOfZstd)->Unit(benchmark::kMillisecond);

// Zeros, which are refused.
void BM_Bomb(benchmark::State& state) {
  LayerMaker maker;
  maker.File("zeros", std::string(512u << 20, '\0'));
  Unpack(state, Zstd(maker.Make()));
}
BENCHMARK(BM_Bomb)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace exec_format
