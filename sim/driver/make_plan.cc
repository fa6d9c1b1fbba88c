// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/make_plan.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "sim/base/random.h"
#include "sim/driver/maker.h"
#include "sim/driver/operations.h"

namespace sim {
namespace {

using namespace std::chrono_literals;
using kube::Json;

// The Deployment of the operator has started by then.
constexpr kube::Duration kBegin = 20s;
constexpr kube::Duration kShortest = 120s;
constexpr kube::Duration kLongest = 420s;
constexpr int kFewest = 15;
constexpr int kMost = 90;
constexpr uint64_t kUninstalledOnceIn = 15;

void Add(Plan& plan, Maker& maker, kube::Duration at, const std::string& operation) {
  plan.steps.push_back({at, operation, FindOperation(operation)->make(maker)});
}

// What a user begins with.
void AddBeginning(Plan& plan, Maker& maker) {
  for (const std::string& ns : Maker::Namespaces())
    plan.steps.push_back({0s, "CreateNamespace", {{"ns", ns}, {"stage", "test"}}});
  Add(plan, maker, kBegin, "SetClusterConfig");
  Add(plan, maker, kBegin + 5s, "SetConfig");
}

std::vector<const Operation*> Chosen(Random& random) {
  const bool faults = !random.OnceIn(3);
  std::vector<const Operation*> chosen;
  for (const Operation& operation : Operations()) {
    if (operation.is_fault && !faults) continue;
    if (operation.name == "CreatePod" || random.OnceIn(2)) chosen.push_back(&operation);
  }
  return chosen;
}

const Operation& Next(const std::vector<const Operation*>& chosen, Random& random) {
  int64_t all = 0;
  for (const Operation* operation : chosen) all += operation->weight;
  int64_t left = static_cast<int64_t>(random.Below(static_cast<uint64_t>(all)));
  for (const Operation* operation : chosen) {
    left -= operation->weight;
    if (left < 0) return *operation;
  }
  return *chosen.back();
}

}  // namespace

Plan MakePlan(uint64_t seed) {
  Random random(seed);
  Plan plan{.seed = seed,
            .operators = static_cast<int>(random.Below(2)) + 1,
            .length = random.Between(kShortest, kLongest)};
  Maker maker(random.Fork());
  AddBeginning(plan, maker);
  const std::vector<const Operation*> chosen = Chosen(random);
  std::vector<kube::Duration> times(static_cast<size_t>(maker.Number(kFewest, kMost)));
  for (size_t i = 0; i < times.size(); ++i) {
    times[i] = random.Between(kBegin, plan.length);
    // At the same moment as an earlier one.
    if (random.OnceIn(6)) times[i] = times[random.Below(i + 1)];
  }
  std::sort(times.begin(), times.end());
  for (const kube::Duration time : times) {
    const Operation& operation = Next(chosen, random);
    plan.steps.push_back({time, operation.name, operation.make(maker)});
  }
  if (random.OnceIn(kUninstalledOnceIn)) Add(plan, maker, plan.length, "Uninstall");
  std::stable_sort(plan.steps.begin(), plan.steps.end(),
                   [](const Step& a, const Step& b) { return a.at < b.at; });
  return plan;
}

}  // namespace sim
