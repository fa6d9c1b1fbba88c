// SPDX-License-Identifier: Apache-2.0
#include "fleet/scheduling/prioritizers.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "fleet/api/names.h"
#include "fleet/scheduling/add_on_prioritizer.h"
#include "fleet/scheduling/allocatable_prioritizer.h"
#include "fleet/scheduling/balance_prioritizer.h"
#include "fleet/scheduling/steady_prioritizer.h"

namespace fleet {
namespace {

using kube::Error;
using kube::Result;

constexpr int64_t kDefaultSpreadWeight = 2;

// nullptr if there is none with this name. Spread is none: it counts at each pick (spread.h).
std::shared_ptr<const Prioritizer> FindBuiltIn(std::string_view name) {
  static const std::shared_ptr<const Prioritizer> kBuiltIns[] = {
      std::make_shared<BalancePrioritizer>(),
      std::make_shared<SteadyPrioritizer>(),
      std::make_shared<AllocatablePrioritizer>(kResourceAllocatableCpu,
                                               &ManagedCluster::allocatable_cpu),
      std::make_shared<AllocatablePrioritizer>(kResourceAllocatableMemory,
                                               &ManagedCluster::allocatable_memory),
  };
  for (const auto& built_in : kBuiltIns) {
    if (built_in->name() == name) return built_in;
  }
  return nullptr;
}

// Before the names are looked up: a later entry may switch an unknown one off.
struct Entry {
  std::string built_in;
  int32_t weight = 0;
  std::shared_ptr<const Prioritizer> add_on;
};

}  // namespace

Result<Prioritizers> Prioritizers::Of(const PlacementSpec& spec) {
  const bool exact = spec.mode == "Exact";
  if (!exact && !spec.mode.empty() && spec.mode != "Additive")
    return Error::Invalid("unknown prioritizerPolicy mode \"" + spec.mode + "\"");

  std::vector<Entry> entries;
  if (!exact) {
    entries.push_back({.built_in = std::string(kBalance), .weight = 1});
    entries.push_back({.built_in = std::string(kSteady), .weight = 1});
    entries.push_back({.built_in = std::string(kSpread), .weight = kDefaultSpreadWeight});
  }
  for (const PrioritizerConfig& config : spec.prioritizers) {
    if (!config.type.empty() && config.type != "BuiltIn") {
      if (config.weight == 0) continue;
      if (config.type != kAddOn)
        return Error::Invalid("unknown score type \"" + config.type + "\"");
      if (!config.add_on) return Error::Invalid("a score of type AddOn without addOn");
      entries.push_back(
          {.weight = config.weight, .add_on = std::make_shared<AddOnPrioritizer>(*config.add_on)});
      continue;
    }
    auto same = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) {
      return !entry.add_on && entry.built_in == config.built_in;
    });
    if (same == entries.end()) {
      entries.push_back({.built_in = config.built_in, .weight = config.weight});
    } else {
      same->weight = config.weight;
    }
  }

  Prioritizers prioritizers;
  for (Entry& entry : entries) {
    if (entry.weight == 0) continue;
    if (!entry.add_on && entry.built_in == kSpread) {
      prioritizers.spread_weight = entry.weight;
      continue;
    }
    auto found = entry.add_on ? std::move(entry.add_on) : FindBuiltIn(entry.built_in);
    if (!found) return Error::Invalid("unknown built-in prioritizer \"" + entry.built_in + "\"");
    prioritizers.active.push_back({std::move(found), entry.weight});
  }
  return prioritizers;
}

Scores Score(const Prioritizers& prioritizers, const ScoreInput& input) {
  Scores out;
  out.totals.assign(input.clusters.size(), 0);
  for (const auto& [prioritizer, weight] : prioritizers.active) {
    ClusterScores of = prioritizer->Score(input);
    for (size_t i = 0; i < of.scores.size(); ++i)
      out.totals[i] += int64_t{weight} * of.scores[i].value_or(0);
    if (!of.warning.empty()) out.warnings.push_back(std::move(of.warning));
    if (of.valid_until && (!out.valid_until || *of.valid_until < *out.valid_until))
      out.valid_until = of.valid_until;
    out.results.push_back({prioritizer->name(), weight, std::move(of.scores)});
  }
  return out;
}

}  // namespace fleet
