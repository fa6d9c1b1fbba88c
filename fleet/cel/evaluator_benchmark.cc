// SPDX-License-Identifier: Apache-2.0
// The cost of CEL for one ManagedCluster of 4 KB, and the memory of the evaluator after 5,000
// clusters with 20 different expressions.
//   bazel run //fleet/cel:evaluator_benchmark
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <fstream>
#include <iostream>

#include "fleet/cel/evaluator.h"
#include "fleet/cel/testing/blocking_evaluator.h"
#include "kube/base/clock.h"

namespace fleet::cel {
namespace {

constexpr char kProgram[] = "fleet/cel/evaluator/evaluator";

class NoScores final : public ScoreReader {
 public:
  kube::Result<std::vector<Score>> Scores(std::string_view) override {
    return std::vector<Score>{{"cpu", 70}};
  }
};

std::string Cluster(int number) {
  std::string name = "cluster-" + std::to_string(number);
  std::string text = R"({"metadata":{"name":")" + name + R"(","labels":{"env":"prod")";
  for (int i = 0; i < 40; ++i) {
    text += R"(,"example.com/label-)" + std::to_string(i) + R"(":"value-)" + name + '"';
  }
  text += R"(}},"status":{"clusterClaims":[{"name":"first","value":"x"})";
  for (int i = 0; text.size() < 4000; ++i) {
    text += R"(,{"name":"claim-)" + std::to_string(i) + R"(.example.com","value":"v"})";
  }
  return text + "]}}";
}

// Kilobytes of `what` ("VmRSS:", "RssAnon:") of a process.
std::string Memory(const std::string& process, const std::string& what) {
  std::ifstream status("/proc/" + process + "/status");
  for (std::string word; status >> word;) {
    if (word == what && status >> word) return word + " kB";
  }
  return "?";
}

void PrintMemory(const char* when) {
  std::ifstream children("/proc/self/task/" + std::to_string(getpid()) + "/children");
  std::string child;
  children >> child;
  std::cout << when << ": evaluator VmRSS " << Memory(child, "VmRSS:") << ", RssAnon "
            << Memory(child, "RssAnon:") << "; this process VmRSS " << Memory("self", "VmRSS:")
            << "\n";
}

void Evaluate(benchmark::State& state, const std::string& text) {
  BlockingEvaluator evaluator(kube::RealClock(), {.program = kProgram});
  NoScores scores;
  std::string cluster = Cluster(1);
  Selector selector{text};
  for (auto _ : state) {
    Verdict verdict = evaluator.Match({&selector, 1}, cluster, scores)[0];
    if (verdict.outcome != Verdict::Outcome::kMatch) state.SkipWithError(verdict.why.c_str());
  }
  state.counters["bytes"] = static_cast<double>(cluster.size());
}

void Label(benchmark::State& state) {
  Evaluate(state, R"(managedCluster.metadata.labels["env"] == "prod")");
}
BENCHMARK(Label)->UseRealTime();

void Claims(benchmark::State& state) {
  Evaluate(state, R"(managedCluster.status.clusterClaims.exists(c, c.name == "first"))");
}
BENCHMARK(Claims)->UseRealTime();

void Scores(benchmark::State& state) {
  Evaluate(state, R"(managedCluster.scores("usage").exists(s, s.name == "cpu" && s.value > 5))");
}
BENCHMARK(Scores)->UseRealTime();

void Pass(benchmark::State& state) {
  BlockingEvaluator evaluator(kube::RealClock(), {.program = kProgram});
  NoScores scores;
  std::vector<Selector> selectors;
  for (int i = 0; i < 20; ++i) {
    selectors.push_back(
        {R"("example.com/label-)" + std::to_string(i) + R"(" in managedCluster.metadata.labels)"});
    if (!evaluator.Compile(selectors[i][0])) state.SkipWithError("does not compile");
  }
  PrintMemory("after the start and 20 compilations");
  for (auto _ : state) {
    for (int cluster = 0; cluster < 5000; ++cluster) {
      for (const Verdict& verdict : evaluator.Match(selectors, Cluster(cluster), scores)) {
        if (verdict.outcome != Verdict::Outcome::kMatch) state.SkipWithError(verdict.why.c_str());
      }
    }
  }
  PrintMemory("after 5,000 clusters with 20 expressions each");
}
BENCHMARK(Pass)->UseRealTime()->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fleet::cel
