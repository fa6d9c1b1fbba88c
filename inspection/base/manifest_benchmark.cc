// SPDX-License-Identifier: Apache-2.0
// Parsing what an inspection reads: the reference in a pod, an image index, an image's config.
//   bazel run //inspection/base:manifest_benchmark
#include <benchmark/benchmark.h>

#include <string>

#include "inspection/base/manifest.h"
#include "inspection/base/reference.h"

namespace inspection {
namespace {

const std::string kDigest = "sha256:" + std::string(64, 'b');

void BM_ParseReference(benchmark::State& state) {
  const std::string texts[] = {"nginx", "quay.io/org/team/app:v1.2.3",
                               "registry.example.com:5000/shop/app@" + kDigest};
  const std::string& text = texts[state.range(0)];
  for (auto _ : state) benchmark::DoNotOptimize(Reference::Parse(text));
}
BENCHMARK(BM_ParseReference)->DenseRange(0, 2);

// An index of so many platforms.
void BM_ParseIndex(benchmark::State& state) {
  std::string entries;
  for (int i = 0; i < state.range(0); ++i) {
    entries += (entries.empty() ? "" : ",") + std::string(R"({"mediaType":")") +
               std::string(kOciManifest) + R"(","size":528,"digest":")" + kDigest +
               R"(","platform":{"os":"linux","architecture":"arch)" + std::to_string(i) + "\"}}";
  }
  const std::string body = R"({"schemaVersion":2,"mediaType":")" + std::string(kOciIndex) +
                           R"(","manifests":[)" + entries + "]}";
  for (auto _ : state) benchmark::DoNotOptimize(ParseManifest(body));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * body.size()));
}
BENCHMARK(BM_ParseIndex)->Arg(2)->Arg(10);

void BM_ParseImageConfig(benchmark::State& state) {
  std::string history;
  for (int i = 0; i < 20; ++i)
    history += (i == 0 ? "" : ",") +
               std::string(R"({"created":"2026-01-01T00:00:00Z","created_by":"RUN make install"})");
  const std::string body = R"({"architecture":"arm64","os":"linux","config":{"Env":["A=b"]},)"
                           R"("history":[)" +
                           history + "]}";
  for (auto _ : state) benchmark::DoNotOptimize(ParseImageConfig(body));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * body.size()));
}
BENCHMARK(BM_ParseImageConfig);

}  // namespace
}  // namespace inspection
