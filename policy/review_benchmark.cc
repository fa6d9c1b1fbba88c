// SPDX-License-Identifier: Apache-2.0
// The cost of one review with 2,000 policies in 500 namespaces and 20 of the cluster, without
// network and without parsing the AdmissionReview.
//   bazel run //policy:review_benchmark
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <iostream>

#include "policy/index.h"
#include "policy/merge.h"
#include "policy/target.h"
#include "policy/testing/words.h"

namespace policy {
namespace {

constexpr int kNamespaces = 500;

// The policies select pods with app=NUMBER.
void Put(Index& index, const std::string& words, const std::string& ns, int number) {
  kube::Json json = PolicyJson(words + " [d][e] P9[a] T(all) t(k=v) k:v");
  json["spec"]["podSelector"] = {{"matchLabels", {{"app", std::to_string(number)}}}};
  Scope scope = words[0] == 'C' ? Scope::kCluster : Scope::kNamespace;
  if (scope == Scope::kNamespace) json["metadata"]["namespace"] = ns;
  index.Put(*SchedulingPolicy::FromJson(json, scope));
}

Index MakeIndex() {
  Index index;
  for (int ns = 0; ns < kNamespaces; ++ns) {
    std::string name = "ns-" + std::to_string(ns);
    index.PutNamespace(name, {});
    for (int i = 0; i < 4; ++i) Put(index, "N-" + std::to_string(i), name, i);
  }
  for (int i = 0; i < 20; ++i) Put(index, "C-" + std::to_string(i), "", i);
  return index;
}

kube::Json Deployment(const char* app) {
  kube::Json deployment = {{"metadata", {{"name", "web"}}}};
  kube::Json& pod = deployment["spec"]["template"];
  pod["metadata"]["labels"] = {{"app", app}, {"tier", "front"}, {"release", "7"}};
  pod["spec"] = SpecOf("[a,b][c] t(not-ready~300) t(unreachable~300) sched=default-scheduler");
  return deployment;
}

void Run(benchmark::State& state, const char* app, size_t expected) {
  Index index = MakeIndex();
  kube::Json deployment = Deployment(app);
  Request request{.group = "apps",
                  .resource = "deployments",
                  .operation = "CREATE",
                  .ns = "ns-7",
                  .object = &deployment};
  for (auto _ : state) {
    Target target = FindTarget(request, *index.LabelsOf("ns-7"), {});
    auto selected = index.For("ns-7", PodLabels(deployment, target));
    if (selected->policies.size() != expected) {
      std::cerr << selected->policies.size() << " policies instead of " << expected << "\n";
      std::exit(1);
    }
    benchmark::DoNotOptimize(Merge(*target.spec, target.SpecPointer(), selected->policies));
  }
}

void BM_NoPolicySelects(benchmark::State& state) { Run(state, "none", 0); }
BENCHMARK(BM_NoPolicySelects);

// One policy of the cluster and one of the namespace.
void BM_TwoPoliciesAreMerged(benchmark::State& state) { Run(state, "1", 2); }
BENCHMARK(BM_TwoPoliciesAreMerged);

}  // namespace
}  // namespace policy
