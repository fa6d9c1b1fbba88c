// SPDX-License-Identifier: Apache-2.0
// Whether a label selector matches a pod with ten labels.
//   bazel run //placement:selector_benchmark
#include <benchmark/benchmark.h>

#include "placement/selector.h"

namespace placement {
namespace {

Labels TenLabels() {
  Labels labels;
  for (int i = 0; i < 10; ++i)
    labels["example.com/label-" + std::to_string(i)] = "value-" + std::to_string(i);
  return labels;
}

void BM_MatchLabels(benchmark::State& state) {
  const Labels labels = TenLabels();
  kube::meta::LabelSelector selector;
  for (int i = 0; i < state.range(0); ++i)
    (*selector.mutable_match_labels())["example.com/label-" + std::to_string(i)] =
        "value-" + std::to_string(i);
  for (auto _ : state) benchmark::DoNotOptimize(Matches(selector, labels));
}
BENCHMARK(BM_MatchLabels)->Arg(0)->Arg(1)->Arg(5);

void BM_MatchExpressions(benchmark::State& state) {
  const Labels labels = TenLabels();
  kube::meta::LabelSelector selector;
  for (int i = 0; i < state.range(0); ++i) {
    auto* expression = selector.add_match_expressions();
    expression->set_key("example.com/label-" + std::to_string(i));
    expression->set_operator_("In");
    for (int value = 0; value < 10; ++value)
      expression->add_values("value-" + std::to_string(value));
  }
  for (auto _ : state) benchmark::DoNotOptimize(Matches(selector, labels));
}
BENCHMARK(BM_MatchExpressions)->Arg(1)->Arg(5);

}  // namespace
}  // namespace placement
