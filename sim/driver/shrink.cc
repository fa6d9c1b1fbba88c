// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/shrink.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace sim {
namespace {

using kube::Json;

class Shrinker {
 public:
  Shrinker(Plan plan, const std::function<bool(const Plan&)>& fails, int runs)
      : plan_(std::move(plan)), fails_(fails), most_(runs) {}

  Shrunk Run() {
    bool smaller = true;
    while (smaller && runs_ < most_) {
      smaller = DropSteps();
      smaller = SimplifyParameters() || smaller;
      smaller = Shorten() || smaller;
    }
    return {std::move(plan_), runs_};
  }

 private:
  // Takes `plan` if it fails as well.
  bool Take(Plan plan) {
    if (runs_ >= most_) return false;
    ++runs_;
    if (!fails_(plan)) return false;
    plan_ = std::move(plan);
    return true;
  }

  // Without parts of the steps: the first half, the second, quarters, ... single steps.
  bool DropSteps() {
    bool smaller = false;
    for (size_t part = std::max<size_t>(plan_.steps.size() / 2, 1);; part /= 2) {
      // From the end: what is there depends on what is before it.
      for (size_t end = plan_.steps.size(); end > 0;) {
        const size_t begin = end > part ? end - part : 0;
        Plan without = plan_;
        without.steps.erase(without.steps.begin() + static_cast<ptrdiff_t>(begin),
                            without.steps.begin() + static_cast<ptrdiff_t>(end));
        smaller = Take(std::move(without)) || smaller;
        end = begin;
      }
      if (part <= 1) return smaller;
    }
  }

  bool SimplifyParameters() {
    bool smaller = false;
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      std::vector<std::string> names;
      for (const auto& item : plan_.steps[i].with.items()) names.push_back(item.key());
      for (const std::string& name : names) {
        // What is left of a value that became simpler may become simpler again.
        while (SimplifyParameter(i, name)) smaller = true;
      }
    }
    return smaller;
  }

  bool SimplifyParameter(size_t step, const std::string& name) {
    for (Json& simpler : SimplerThan(plan_.steps[step].with[name])) {
      Plan plan = plan_;
      plan.steps[step].with[name] = std::move(simpler);
      if (Take(std::move(plan))) return true;
    }
    return false;
  }

  // Without the time after the last step.
  bool Shorten() {
    if (plan_.steps.empty() || plan_.steps.back().at == plan_.length) return false;
    Plan plan = plan_;
    plan.length = plan.steps.back().at;
    return Take(std::move(plan));
  }

  Plan plan_;
  const std::function<bool(const Plan&)>& fails_;
  const int most_;
  int runs_ = 0;
};

}  // namespace

Shrunk Shrink(Plan plan, const std::function<bool(const Plan&)>& fails, ShrinkBudget budget) {
  return Shrinker(std::move(plan), fails, budget.runs).Run();
}

std::vector<Json> SimplerThan(const Json& value) {
  std::vector<Json> simpler;
  if (value.is_array() && !value.empty()) {
    simpler.push_back(Json::array());
    for (size_t i = 0; i < value.size() && value.size() > 1; ++i) {
      Json without = value;
      without.erase(i);
      simpler.push_back(std::move(without));
    }
  } else if (value.is_object()) {
    for (const auto& item : value.items()) {
      Json without = value;
      without.erase(item.key());
      simpler.push_back(std::move(without));
    }
  } else if (value == true) {
    simpler.push_back(false);
  } else if (value.is_number_integer() && value > 1) {
    simpler.push_back(1);
    if (value > 3) simpler.push_back(value.get<int64_t>() / 2);
  }
  return simpler;
}

}  // namespace sim
