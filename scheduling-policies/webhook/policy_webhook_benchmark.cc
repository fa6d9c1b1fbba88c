// SPDX-License-Identifier: Apache-2.0
// The cost of one review with 2,000 policies in 500 namespaces and 20 of the cluster, from the body
// to the answer, without network and TLS.
//   bazel run //scheduling-policies/webhook:policy_webhook_benchmark
#include <benchmark/benchmark.h>

#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <iostream>

#include "kube/base/task_group.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/run.h"
#include "scheduling-policies/webhook/policy_review.h"
#include "scheduling-policies/webhook/policy_webhook.h"
#include "scheduling-policies/webhook/testing/reviews.h"

namespace policy {
namespace {

constexpr int kNamespaces = 500;

// The policies select pods with app=NUMBER.
void Create(kube::FakeApiServer& api, const std::string& words, const std::string& ns, int number) {
  kube::Json json = PolicyJson(words + " [d][e] P9[a] T(all) t(k=v) k:v");
  json["spec"]["podSelector"] = {{"matchLabels", {{"app", std::to_string(number)}}}};
  if (!ns.empty()) json["metadata"]["namespace"] = ns;
  api.CreateJson(ns.empty() ? kClusterPodSchedulingPolicies : kPodSchedulingPolicies, json);
}

// A webhook that has all policies.
class World {
 public:
  World() {
    for (int ns = 0; ns < kNamespaces; ++ns) {
      kube::core::Namespace object;
      object.mutable_metadata()->set_name("ns-" + std::to_string(ns));
      api_.Create(object);
      for (int i = 0; i < 4; ++i)
        Create(api_, "N-" + std::to_string(i), object.metadata().name(), i);
    }
    for (int i = 0; i < 20; ++i) Create(api_, "C-" + std::to_string(i), "", i);
    replica_.Start(tasks_);
    kube::Drain(io_);
  }
  ~World() {
    kube::IgnoreError(kube::Run(io_, tasks_.Stop(kube::RealClock(), std::chrono::seconds(5))),
                      "the test ends");
  }

  std::string Answer(const std::string& review) {
    auto reply = kube::Run(io_, webhook_.Answer({"POST", "/policies", review}));
    return reply->body;
  }

 private:
  boost::asio::io_context io_{1};
  kube::FakeApiServer api_;
  kube::TaskGroup tasks_{io_.get_executor()};
  kube::Metrics metrics_;
  PolicyReplica replica_{api_, kube::RealClock(), "operator", "replica-1"};
  PolicyWebhook webhook_{{"operator"}, replica_, api_, metrics_, kube::RealClock()};
};

// `containers` of about 1 KB each, and managed fields of about the same size.
std::string Review(const char* app, int containers) {
  kube::Json object = Workload(
      "[a,b][c] t(not-ready~300) t(unreachable~300) sched=default-scheduler", app, containers);
  object["metadata"]["namespace"] = "ns-7";
  object["metadata"]["managedFields"] = {{{"fieldsV1", object["spec"]}}};
  return kube::DumpJson(ReviewOf("apps/deployments", "CREATE", object));
}

void Run(benchmark::State& state, const char* app, bool patched) {
  static World& world = *new World;
  std::string review = Review(app, static_cast<int>(state.range(0)));
  if ((world.Answer(review).find("\"patch\"") != std::string::npos) != patched) {
    std::cerr << "app=" << app << ": " << world.Answer(review) << "\n";
    std::exit(1);
  }
  for (auto _ : state) benchmark::DoNotOptimize(world.Answer(review));
  state.counters["bytes"] = static_cast<double>(review.size());
}

void BM_NoPolicySelects(benchmark::State& state) { Run(state, "none", false); }
BENCHMARK(BM_NoPolicySelects)->Arg(1)->Arg(5);

// One policy of the cluster and one of the namespace.
void BM_TwoPoliciesAreMerged(benchmark::State& state) { Run(state, "1", true); }
BENCHMARK(BM_TwoPoliciesAreMerged)->Arg(1)->Arg(5);

void BM_ReadReview(benchmark::State& state) {
  std::string review = Review("1", static_cast<int>(state.range(0)));
  PolicyReviewReader reader;
  for (auto _ : state) benchmark::DoNotOptimize(reader.Read(review));
}
BENCHMARK(BM_ReadReview)->Arg(1)->Arg(5);

}  // namespace
}  // namespace policy
