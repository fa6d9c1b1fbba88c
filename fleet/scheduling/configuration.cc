// SPDX-License-Identifier: Apache-2.0
#include "fleet/scheduling/configuration.h"

#include <string_view>

#include "fleet/scheduling/decision_groups.h"
#include "fleet/scheduling/tolerations.h"
#include "kube/base/utf8.h"

namespace fleet {
namespace {

Misconfigured Bad(std::string_view plugin, std::string_view why) {
  constexpr size_t kMaxWhy = 1000;
  return {std::string(plugin), std::string(kube::CutUtf8(why, kMaxWhy))};
}

constexpr std::string_view kOther = "Placement";
constexpr std::string_view kPrioritizer = "Prioritizer";
constexpr std::string_view kDecisionStrategy = "DecisionStrategy";

// The part of scheduling that reads a field.
std::string_view PluginOf(std::string_view field) {
  struct Row {
    std::string_view field;
    std::string_view plugin;
  };
  constexpr Row kRows[] = {
      {"spec.predicates", kPredicate},
      {"spec.tolerations", kTaintToleration},
      {"spec.prioritizerPolicy", kPrioritizer},
      {"spec.spreadPolicy", kSpread},
      {"spec.decisionStrategy", kDecisionStrategy},
  };
  for (const Row& row : kRows) {
    if (field.starts_with(row.field)) return row.plugin;
  }
  return kOther;
}

std::optional<Misconfigured> CheckCel(const PlacementSpec& spec, CelSelectors& cel) {
  for (size_t i = 0; i < spec.predicates.size(); ++i) {
    for (const std::string& expression : spec.predicates[i].cel) {
      if (std::optional<std::string> error = cel.Check(expression))
        return Bad(kPredicate, "predicates[" + std::to_string(i) + "].celSelector: " + *error);
    }
  }
  return std::nullopt;
}

}  // namespace

std::variant<Prioritizers, Misconfigured> CheckConfiguration(const Placement& placement,
                                                             CelSelectors& cel) {
  const PlacementSpec& spec = placement.spec;
  if (placement.name.size() > kMaxPlacementName)
    return Bad(kOther, "the name must have at most 63 characters: it is the value of a label");
  if (!placement.problems.empty()) {
    return Bad(PluginOf(placement.problems.front().field), api::Describe(placement.problems));
  }
  if (spec.number_of_clusters.value_or(0) < 0)
    return Bad(kOther, "numberOfClusters must not be negative");
  if (std::optional<Misconfigured> bad = CheckCel(spec, cel)) return *bad;
  if (std::optional<std::string> why = CheckTolerations(spec.tolerations))
    return Bad(kTaintToleration, *why);
  if (std::optional<std::string> why = CheckGroupSize(spec.clusters_per_group))
    return Bad(kDecisionStrategy, *why);
  kube::Result<Prioritizers> prioritizers = Prioritizers::Of(spec);
  if (!prioritizers) return Bad(kPrioritizer, prioritizers.error().message());
  return std::move(*prioritizers);
}

}  // namespace fleet
