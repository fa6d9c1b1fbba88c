// SPDX-License-Identifier: Apache-2.0
// The cost of one review, from the body to the answer, without network and TLS. The pod is one of a
// Deployment, about 10 KB.
//   bazel run //webhook:gate_webhook_benchmark
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "api/names.h"
#include "kube/base/clock.h"
#include "kube/metrics/metrics.h"
#include "kube/server/http_message.h"
#include "webhook/gate_webhook.h"
#include "webhook/golden.h"
#include "webhook/pod_review.h"

namespace webhook {
namespace {

std::string Review() {
  std::string review =
      ReadTestFile(std::filesystem::path(kTestdata) / "cluster_pod_of_a_deployment.input.json");
  if (review.empty()) {
    std::cerr << "run me by bazel run, or in the folder of the workspace\n";
    std::exit(1);
  }
  return review;
}

void BM_ReadReview(benchmark::State& state) {
  std::string body = Review();
  PodReviewReader reader;
  for (auto _ : state) benchmark::DoNotOptimize(reader.Read(body));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * body.size()));
}
BENCHMARK(BM_ReadReview);

void BM_AnswerReview(benchmark::State& state) {
  kube::Metrics metrics;
  GateWebhook webhook({"", "operator"}, metrics, kube::RealClock());
  kube::HttpCall call{"POST", std::string(api::kClusterGatePath), Review()};
  for (auto _ : state) benchmark::DoNotOptimize(webhook.Answer(call));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * call.body.size()));
}
BENCHMARK(BM_AnswerReview);

}  // namespace
}  // namespace webhook
