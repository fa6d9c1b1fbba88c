// SPDX-License-Identifier: Apache-2.0
#include "fleet/api/placement.h"

#include <algorithm>
#include <charconv>

#include "api/json_fields.h"
#include "api/label_selector.h"
#include "fleet/api/reading.h"
#include "kube/types/list_at.h"

namespace fleet {
namespace {

using api::JsonReader;
using kube::Json;
using kube::meta::LabelSelector;

constexpr int64_t kInt32Min = std::numeric_limits<int32_t>::min();
constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();

LabelSelector ReadSelector(JsonReader& reader, std::string_view name) {
  const Json* json = reader.Object(name);
  if (json == nullptr) return LabelSelector();
  std::string path = reader.PathOf(name);
  LabelSelector selector = api::LabelSelectorFromJson(*json, path, reader.problems());
  api::ValidateLabelSelector(selector, path, reader.problems());
  return selector;
}

ClusterSelector ReadClusterSelector(const Json& json, const std::string& path,
                                    api::FieldErrors& problems) {
  ClusterSelector selector;
  JsonReader reader(json, path, problems);
  selector.labels = ReadSelector(reader, "labelSelector");
  selector.claims = ReadSelector(reader, "claimSelector");
  selector.claims.clear_match_labels();
  if (const Json* cel = reader.Object("celSelector")) {
    api::JsonFieldReader fields(*cel, reader.PathOf("celSelector"), problems);
    fields("celExpressions", selector.cel, api::Strings{kMaxCelExpressions, kMaxCelBytes});
  }
  return selector;
}

size_t Requirements(const LabelSelector& selector) {
  return selector.match_labels().size() + static_cast<size_t>(selector.match_expressions_size());
}

size_t Requirements(const ClusterSelector& selector) {
  return Requirements(selector.labels) + Requirements(selector.claims);
}

void ReadPredicates(JsonReader& spec, std::vector<ClusterSelector>& predicates) {
  size_t requirements = 0;
  size_t expressions = 0;
  ForEachItem(spec, "predicates", kMaxPredicates, [&](JsonReader& item, const Json&) {
    const std::string_view name = "requiredClusterSelector";
    const Json* selector = item.Object(name);
    predicates.push_back(selector == nullptr
                             ? ClusterSelector()
                             : ReadClusterSelector(*selector, item.PathOf(name), item.problems()));
    requirements += Requirements(predicates.back());
    expressions += predicates.back().cel.size();
  });
  if (requirements > kMaxRequirements) {
    spec.Problem("predicates", "must have at most " + std::to_string(kMaxRequirements) +
                                   " requirements on labels and claims");
  }
  if (expressions > kMaxCelExpressions) {
    spec.Problem("predicates",
                 "must have at most " + std::to_string(kMaxCelExpressions) + " CEL expressions");
  }
}

void ReadPrioritizers(JsonReader& spec, PlacementSpec& out) {
  const Json* policy = spec.Object("prioritizerPolicy");
  if (policy == nullptr) return;
  JsonReader reader(*policy, spec.PathOf("prioritizerPolicy"), spec.problems());
  out.mode = ReadString(reader, "mode");
  ForEachItem(reader, "configurations", kMaxPrioritizers, [&](JsonReader& item, const Json&) {
    // As in OCM, an entry without a coordinate has no effect.
    const Json* coordinate = item.Object("scoreCoordinate");
    if (coordinate == nullptr) return;
    PrioritizerConfig config;
    config.weight = static_cast<int32_t>(
        item.Int("weight", {.range = {.low = -10, .high = 10}, .fallback = 1}));
    api::JsonFieldReader fields(*coordinate, item.PathOf("scoreCoordinate"), item.problems());
    PrioritizerConfig::Fields(config, fields);
    out.prioritizers.push_back(std::move(config));
  });
}

void ReadSpread(JsonReader& spec, std::vector<SpreadConstraint>& spread) {
  static constexpr std::string_view kKeyTypes[] = {"Label", "Claim"};
  static constexpr std::string_view kActions[] = {"ScheduleAnyway", "DoNotSchedule"};
  const Json* policy = spec.Object("spreadPolicy");
  if (policy == nullptr) return;
  JsonReader reader(*policy, spec.PathOf("spreadPolicy"), spec.problems());
  ForEachItem(
      reader, "spreadConstraints", kMaxSpreadConstraints, [&](JsonReader& item, const Json&) {
        SpreadConstraint constraint;
        constraint.key = ReadString(item, "topologyKey", kMaxName, api::kRequired);
        constraint.claim = item.Enum("topologyKeyType", kKeyTypes) == "Claim";
        constraint.max_skew = static_cast<int32_t>(
            item.Int("maxSkew", {.range = {.low = 1, .high = kInt32Max}, .fallback = 1}));
        constraint.do_not_schedule = item.Enum("whenUnsatisfiable", kActions) == "DoNotSchedule";
        spread.push_back(std::move(constraint));
      });
}

// The value of an int-or-string.
void ReadClustersPerGroup(JsonReader& strategy, const Json& json,
                          std::variant<int64_t, std::string>& value) {
  const std::string_view name = "clustersPerDecisionGroup";
  const Json* found = kube::Find(json, name);
  if (found == nullptr || found->is_null()) return;
  if (found->is_string()) {
    value = ReadString(strategy, name);
  } else {
    value = strategy.Int(name, {.range = {.low = kInt32Min, .high = kInt32Max}});
  }
}

void ReadGroups(JsonReader& spec, const Json& spec_json, PlacementSpec& out) {
  constexpr size_t kMinGroupName = 2;
  const std::string path = "decisionStrategy.groupStrategy";
  const Json& json = kube::ObjectAt(spec_json, path);
  JsonReader strategy(json, spec.PathOf(path), spec.problems());
  ReadClustersPerGroup(strategy, json, out.clusters_per_group);
  size_t requirements = 0;
  ForEachItem(strategy, "decisionGroups", kMaxNamedGroups, [&](JsonReader& item, const Json&) {
    NamedGroup group{.name = ReadString(item, "groupName")};
    if (group.name.size() < kMinGroupName || !api::IsLabelValue(group.name))
      item.Problem("groupName", "must be the value of a label, of 2 to 63 characters");
    const std::string_view name = "groupClusterSelector";
    if (const Json* selector = item.Object(name)) {
      group.selector = ReadClusterSelector(*selector, item.PathOf(name), item.problems());
      group.selector.cel.clear();
    }
    requirements += Requirements(group.selector);
    out.groups.push_back(std::move(group));
  });
  if (requirements > kMaxRequirements) {
    strategy.Problem("decisionGroups", "must have at most " + std::to_string(kMaxRequirements) +
                                           " requirements on labels and claims");
  }
}

// `^[0-9]+[hms]$`, at most a day.
std::optional<std::chrono::seconds> ParseRateLimit(std::string_view text) {
  constexpr std::chrono::seconds kMax = std::chrono::hours(24);
  if (text.size() < 2) return std::nullopt;
  int64_t number = 0;
  const char* last = text.data() + text.size() - 1;
  auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc() || end != last || text[0] == '-' || number > kMax.count())
    return std::nullopt;
  const int64_t unit = *last == 'h' ? 3600 : *last == 'm' ? 60 : *last == 's' ? 1 : 0;
  if (unit == 0) return std::nullopt;
  return std::min(std::chrono::seconds(number * unit), kMax);
}

void ReadOrder(JsonReader& spec, PlacementSpec& out) {
  static constexpr std::string_view kOrders[] = {"ClusterName", "Score"};
  if (spec.Enum("sortBy", kOrders) == "Score") out.sort_by = SortBy::kScore;
  std::string limit = ReadString(spec, "scoreRateLimit");
  if (limit.empty()) return;
  if (std::optional<std::chrono::seconds> parsed = ParseRateLimit(limit)) {
    out.score_rate_limit = *parsed;
  } else {
    spec.Problem("scoreRateLimit", "must be a number with the unit h, m or s");
  }
}

void ReadSpec(const Json& json, Placement& placement) {
  JsonReader spec(json, "spec", placement.problems);
  PlacementSpec& out = placement.spec;
  const Json* number = kube::Find(json, "numberOfClusters");
  if (number != nullptr && !number->is_null()) {
    // Negative numbers are judged by scheduling: the CRD allows them.
    out.number_of_clusters = static_cast<int32_t>(
        spec.Int("numberOfClusters", {.range = {.low = kInt32Min, .high = kInt32Max}}));
  }
  ReadPredicates(spec, out.predicates);
  ReadPrioritizers(spec, out);
  api::JsonFieldReader fields(spec);
  fields("clusterSets", out.cluster_sets, api::Strings{kMaxClusterSets, kMaxWord.bytes});
  fields("tolerations", out.tolerations, api::Items{.max = kMaxTolerations});
  ReadSpread(spec, out.spread);
  ReadGroups(spec, json, out);
  ReadOrder(spec, out);
}

}  // namespace

kube::Result<Placement> Placement::FromJson(const Json& json) {
  if (!json.is_object()) return kube::Error::Invalid("Placement: not a JSON object");
  Placement placement;
  ReadMetadata(json, placement);
  placement.generation = kube::IntAt(json, "metadata.generation");
  constexpr std::string_view kAnnotations = "metadata.annotations";
  placement.scheduling_disabled =
      MetadataString(json, kAnnotations, kSchedulingDisableAnnotation) == "true";
  placement.scheduler = MetadataString(json, kAnnotations, kSchedulerAnnotation);

  const Json* spec = kube::Find(json, "spec");
  if (spec != nullptr && !spec->is_null()) ReadSpec(*spec, placement);
  api::FieldErrors ignored;  // a status that does not fit is replaced
  placement.status =
      api::ReadFields<PlacementStatus>(kube::ObjectAt(json, "status"), "status", ignored);
  for (DecisionGroupStatus& group : placement.status.decision_groups) {
    if (group.name.size() > kMaxName) group.name.clear();
  }
  return placement;
}

Json StatusToJson(const PlacementStatus& status) { return api::WriteFields(status); }

}  // namespace fleet
