// SPDX-License-Identifier: Apache-2.0
#include "fleet/scheduling/prioritizers.h"

#include <algorithm>
#include <string_view>

#include "kube/base/join.h"

namespace fleet {
namespace {

using kube::Error;
using kube::Result;
using kube::WallTime;
using OneScore = std::optional<int32_t>;

constexpr int32_t kMax = 100;
constexpr int64_t kDefaultSpreadWeight = 2;
constexpr std::string_view kBuiltIns[] = {kBalance, kSteady, kResourceAllocatableCpu,
                                          kResourceAllocatableMemory, kSpread};

int64_t OthersEntries(const Fleet& fleet, const DecisionCounts& own, const std::string& cluster) {
  return std::max<int64_t>(0, CountOf(fleet.decisions, cluster) - CountOf(own, cluster));
}

// Fewer decisions of other Placements are better.
std::vector<OneScore> Balance(const Clusters& clusters, const DecisionCounts& own,
                              const Fleet& fleet) {
  int64_t most = 0;
  for (const auto& [cluster, entries] : fleet.decisions) {
    if (entries > most) most = std::max(most, entries - CountOf(own, cluster));
  }
  std::vector<OneScore> scores;
  scores.reserve(clusters.size());
  for (const ManagedCluster* cluster : clusters) {
    int64_t entries = OthersEntries(fleet, own, cluster->name);
    double usage = entries == 0 ? 0 : static_cast<double>(entries) / static_cast<double>(most);
    scores.push_back(entries == 0 ? kMax : 2 * static_cast<int32_t>(kMax * (0.5 - usage)));
  }
  return scores;
}

std::vector<OneScore> Steady(const Clusters& clusters, const DecisionCounts& own) {
  std::vector<OneScore> scores;
  scores.reserve(clusters.size());
  for (const ManagedCluster* cluster : clusters)
    scores.push_back(CountOf(own, cluster->name) > 0 ? kMax : 0);
  return scores;
}

// More is better, in proportion between the least and the greatest value.
std::vector<OneScore> Allocatable(const Clusters& clusters,
                                  std::optional<double> ManagedCluster::*resource) {
  std::optional<double> least;
  std::optional<double> greatest;
  for (const ManagedCluster* cluster : clusters) {
    std::optional<double> value = cluster->*resource;
    if (!value) continue;
    least = std::min(least.value_or(*value), *value);
    greatest = std::max(greatest.value_or(*value), *value);
  }
  std::vector<OneScore> scores;
  scores.reserve(clusters.size());
  for (const ManagedCluster* cluster : clusters) {
    std::optional<double> value = cluster->*resource;
    if (!value) {
      scores.push_back(std::nullopt);
    } else if (*greatest == *least) {
      scores.push_back(kMax);
    } else {
      double share = (*value - *least) / (*greatest - *least);
      scores.push_back(static_cast<int32_t>((share - 0.5) * 2 * kMax));
    }
  }
  return scores;
}

std::vector<OneScore> AddOnScores(const Prioritizer& prioritizer, const Clusters& clusters,
                                  const Fleet& fleet, WallTime now, Scores& out) {
  constexpr size_t kNamed = 5;
  std::vector<OneScore> scores;
  scores.reserve(clusters.size());
  std::vector<std::string_view> expired;
  for (const ManagedCluster* cluster : clusters) {
    scores.push_back(0);
    auto of_cluster = fleet.scores.find(cluster->name);
    if (of_cluster == fleet.scores.end()) continue;
    auto object = of_cluster->second.find(prioritizer.add_on->resource);
    if (object == of_cluster->second.end()) continue;
    auto score = object->second.scores.find(prioritizer.add_on->score);
    const std::optional<WallTime>& valid_until = object->second.valid_until;
    if (valid_until && now > *valid_until) {
      expired.push_back(cluster->name);
      continue;
    }
    if (score == object->second.scores.end()) continue;
    scores.back() = score->second;
    if (valid_until && (!out.valid_until || *valid_until < *out.valid_until))
      out.valid_until = valid_until;
  }
  if (!expired.empty()) {
    out.warnings.push_back(prioritizer.name + ": the scores of " + std::to_string(expired.size()) +
                           " clusters are expired and count as 0: " + kube::Join(expired, kNamed));
  }
  return scores;
}

std::vector<OneScore> ScoresOf(const Prioritizer& prioritizer, const Clusters& clusters,
                               const DecisionCounts& own, const Fleet& fleet, WallTime now,
                               Scores& out) {
  if (prioritizer.add_on) return AddOnScores(prioritizer, clusters, fleet, now, out);
  if (prioritizer.name == kBalance) return Balance(clusters, own, fleet);
  if (prioritizer.name == kSteady) return Steady(clusters, own);
  return Allocatable(clusters, prioritizer.name == kResourceAllocatableCpu
                                   ? &ManagedCluster::allocatable_cpu
                                   : &ManagedCluster::allocatable_memory);
}

}  // namespace

Result<Prioritizers> Prioritizers::Of(const PlacementSpec& spec) {
  const bool exact = spec.mode == "Exact";
  if (!exact && !spec.mode.empty() && spec.mode != "Additive")
    return Error::Invalid("unknown prioritizerPolicy mode \"" + spec.mode + "\"");

  std::vector<Prioritizer> all;
  if (!exact) {
    all.push_back({.name = std::string(kBalance), .weight = 1});
    all.push_back({.name = std::string(kSteady), .weight = 1});
    all.push_back({.name = std::string(kSpread), .weight = kDefaultSpreadWeight});
  }
  for (const PrioritizerConfig& config : spec.prioritizers) {
    if (config.type == "AddOn" || (!config.type.empty() && config.type != "BuiltIn")) {
      if (config.weight == 0) continue;
      if (config.type != kAddOn)
        return Error::Invalid("unknown score type \"" + config.type + "\"");
      if (!config.add_on) return Error::Invalid("a score of type AddOn without addOn");
      all.push_back({.name = "AddOn/" + config.add_on->resource + "/" + config.add_on->score,
                     .weight = config.weight,
                     .add_on = config.add_on});
      continue;
    }
    auto same = std::find_if(all.begin(), all.end(), [&](const Prioritizer& prioritizer) {
      return !prioritizer.add_on && prioritizer.name == config.built_in;
    });
    if (same == all.end()) {
      all.push_back({.name = config.built_in, .weight = config.weight});
    } else {
      same->weight = config.weight;
    }
  }

  Prioritizers prioritizers;
  for (Prioritizer& prioritizer : all) {
    if (prioritizer.weight == 0) continue;
    if (!prioritizer.add_on && std::find(std::begin(kBuiltIns), std::end(kBuiltIns),
                                         prioritizer.name) == std::end(kBuiltIns)) {
      return Error::Invalid("unknown built-in prioritizer \"" + prioritizer.name + "\"");
    }
    if (prioritizer.name == kSpread) {
      prioritizers.spread_weight = prioritizer.weight;
    } else {
      prioritizers.active.push_back(std::move(prioritizer));
    }
  }
  return prioritizers;
}

Scores Score(const Prioritizers& prioritizers, const Clusters& clusters, const DecisionCounts& own,
             const Fleet& fleet, WallTime now) {
  Scores out;
  out.totals.assign(clusters.size(), 0);
  for (const Prioritizer& prioritizer : prioritizers.active) {
    PrioritizerResult result{.name = prioritizer.name, .weight = prioritizer.weight};
    result.scores = ScoresOf(prioritizer, clusters, own, fleet, now, out);
    for (size_t i = 0; i < clusters.size(); ++i)
      out.totals[i] += int64_t{prioritizer.weight} * result.scores[i].value_or(0);
    out.results.push_back(std::move(result));
  }
  return out;
}

}  // namespace fleet
