// SPDX-License-Identifier: Apache-2.0
#include "e2e/chaos/plan/plan.h"

#include <algorithm>
#include <deque>

#include "sim/base/random.h"

namespace e2e {

using std::chrono::milliseconds;

namespace {

// When no kind can begin, the next look is so much later.
constexpr milliseconds kStep{500};

class Planner {
 public:
  Planner(const std::vector<FaultOutline>& kinds, const PlanOptions& options)
      : kinds_(kinds), options_(options), random_(options.seed) {}

  std::vector<PlannedFault> Make() {
    milliseconds now = Between(options_.shortest_gap, options_.longest_gap);
    while (now < options_.length) {
      now += Begin(now) ? Between(options_.shortest_gap, options_.longest_gap) : kStep;
    }
    return std::move(plan_);
  }

 private:
  milliseconds Between(milliseconds least, milliseconds most) {
    return std::chrono::duration_cast<milliseconds>(random_.Between(least, most));
  }

  // Begins the first of the kinds that wait whose area is free and that ends in time.
  bool Begin(milliseconds now) {
    if (waiting_.empty()) {
      std::vector<const FaultOutline*> round;
      for (const FaultOutline& kind : kinds_) round.push_back(&kind);
      random_.Shuffle(round);
      waiting_.assign(round.begin(), round.end());
    }
    if (!HasRoom(now)) return false;
    for (auto kind = waiting_.begin(); kind != waiting_.end(); ++kind) {
      if (!IsFree((*kind)->area, now) || now + (*kind)->longest > options_.length) continue;
      const FaultOutline& outline = **kind;
      waiting_.erase(kind);
      const milliseconds length = Between(outline.shortest, outline.longest);
      plan_.push_back({outline.name, now, now + length, random_.Below(uint64_t{1} << 32)});
      areas_.push_back({outline.area, now + length});
      return true;
    }
    return false;
  }

  bool HasRoom(milliseconds now) const {
    auto active = [now](const PlannedFault& fault) { return fault.end > now; };
    return static_cast<size_t>(std::count_if(plan_.begin(), plan_.end(), active)) <
           options_.most_at_once;
  }

  bool IsFree(const std::string& area, milliseconds now) const {
    return std::none_of(areas_.begin(), areas_.end(), [&](const auto& taken) {
      return taken.first == area && taken.second >= now;
    });
  }

  const std::vector<FaultOutline>& kinds_;
  const PlanOptions& options_;
  sim::Random random_;
  std::deque<const FaultOutline*> waiting_;
  std::vector<std::pair<std::string, milliseconds>> areas_;  // with the end of each fault
  std::vector<PlannedFault> plan_;
};

}  // namespace

std::vector<PlannedFault> MakePlan(const std::vector<FaultOutline>& kinds,
                                   const PlanOptions& options) {
  if (kinds.empty()) return {};
  return Planner(kinds, options).Make();
}

}  // namespace e2e
