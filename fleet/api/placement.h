// SPDX-License-Identifier: Apache-2.0
// Placement (OCM, v1beta1): which clusters of the namespace's cluster sets are selected.
//
// FromJson() accepts every object, because one refused object would stop the watch of all. What is
// wrong with the spec is listed in `problems`: such a Placement is Misconfigured. Words that the
// CRD does not restrict (operators, modes, prioritizers) are kept as they are; scheduling judges
// them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "api/conditions.h"
#include "api/field_error.h"
#include "api/fields.h"
#include "fleet/api/names.h"
#include "kube/base/error.h"
#include "kube/types/meta.pb.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace fleet {

// Far above what users write: they bound the time of one pass. More is a problem.
inline constexpr size_t kMaxClusterSets = 1000;
inline constexpr size_t kMaxPredicates = 100;
inline constexpr size_t kMaxRequirements = 500;    // of all selectors of the predicates, or groups
inline constexpr size_t kMaxCelExpressions = 100;  // of all predicates
inline constexpr size_t kMaxCelBytes = 16 * 1024;  // of one expression
inline constexpr size_t kMaxTolerations = 100;
inline constexpr size_t kMaxPrioritizers = 100;
inline constexpr size_t kMaxSpreadConstraints = 8;
inline constexpr size_t kMaxNamedGroups = 100;
inline constexpr size_t kMaxPlacementName = 63;      // it becomes the value of a label
inline constexpr size_t kMaxStatusGroups = 100'000;  // one for each cluster of a very large fleet
inline constexpr api::MaxSize kMaxWord{kMaxName};

// The parts are ANDed; an empty one matches every cluster.
struct ClusterSelector {
  kube::meta::LabelSelector labels;
  kube::meta::LabelSelector claims;  // without matchLabels
  std::vector<std::string> cel;      // ANDed; none in a decision group
};

struct AddOnScore {
  std::string resource;  // the name of the AddOnPlacementScore
  std::string score;

  static void Fields(auto& score, auto& field) {
    field("resourceName", score.resource, kMaxWord);
    field("scoreName", score.score, kMaxWord);
  }
};

struct PrioritizerConfig {
  std::string type;      // "" or "BuiltIn"; "AddOn"
  std::string built_in;  // a name of names.h, or another word
  std::optional<AddOnScore> add_on;
  int32_t weight = 1;  // -10..10

  // The scoreCoordinate.
  static void Fields(auto& config, auto& field) {
    field("type", config.type, kMaxWord, api::kOptional);
    field("builtIn", config.built_in, kMaxWord, api::kOptional);
    field("addOn", config.add_on);
  }
};

struct Toleration {
  std::string key;
  std::string op;  // "" or "Equal"; "Exists"; others match nothing
  std::string value;
  std::string effect;              // "": every
  std::optional<int64_t> seconds;  // since the taint was added; nullopt: for ever

  static void Fields(auto& toleration, auto& field) {
    field("key", toleration.key, kMaxWord, api::kOptional);
    field("operator", toleration.op, kMaxWord, api::kOptional);
    field("value", toleration.value, api::MaxSize{1024}, api::kOptional);  // as in the CRD
    field("effect", toleration.effect, kMaxWord, api::kOptional);
    field("tolerationSeconds", toleration.seconds, api::Range{});
  }
};

struct SpreadConstraint {
  std::string key;
  bool claim = false;  // `key` is the name of a claim, not of a label
  int32_t max_skew = 1;
  bool do_not_schedule = false;
};

struct NamedGroup {
  std::string name;  // 2 to 63 characters, the value of a label
  ClusterSelector selector;
};

enum class SortBy { kClusterName, kScore };

struct PlacementSpec {
  std::vector<std::string> cluster_sets;  // empty: all that are bound
  std::optional<int32_t> number_of_clusters;
  std::vector<ClusterSelector> predicates;  // ORed; none matches every cluster
  std::string mode;                         // of the prioritizers: "" or "Additive"; "Exact"
  std::vector<PrioritizerConfig> prioritizers;
  std::vector<Toleration> tolerations;
  std::vector<SpreadConstraint> spread;
  std::variant<int64_t, std::string> clusters_per_group = "100%";
  std::vector<NamedGroup> groups;
  SortBy sort_by = SortBy::kClusterName;
  std::chrono::seconds score_rate_limit{60};
};

struct DecisionGroupStatus {
  int64_t index = 0;
  std::string name;
  std::vector<std::string> decisions;  // names of PlacementDecisions
  int64_t cluster_count = 0;

  bool operator==(const DecisionGroupStatus&) const = default;
  static void Fields(auto& group, auto& field) {
    field("decisionGroupIndex", group.index, api::Range{});
    field("decisionGroupName", group.name);
    field("decisions", group.decisions, api::Strings{kMaxStatusGroups, kMaxWord.bytes});
    field("clusterCount", group.cluster_count, api::Range{});
  }
};

struct PlacementStatus {
  int64_t number_of_selected_clusters = 0;
  std::vector<DecisionGroupStatus> decision_groups;
  std::vector<api::Condition> conditions;
  std::string last_score_update_time;  // RFC 3339, or ""

  bool operator==(const PlacementStatus&) const = default;
  static void Fields(auto& status, auto& field) {
    field("numberOfSelectedClusters", status.number_of_selected_clusters, api::Range{});
    field("decisionGroups", status.decision_groups, api::Items{.max = kMaxStatusGroups});
    field("conditions", status.conditions, api::Items{});
    field("lastScoreUpdateTime", status.last_score_update_time, kMaxWord, api::kOptional);
  }
};

struct Placement {
  // kInvalid only if `json` is not a JSON object.
  static kube::Result<Placement> FromJson(const kube::Json& json);

  std::string ns;
  std::string name;
  std::string uid;
  std::string resource_version;
  int64_t generation = 0;
  bool deleting = false;
  bool scheduling_disabled = false;  // kSchedulingDisableAnnotation is "true"
  std::string scheduler;             // kSchedulerAnnotation, or ""
  PlacementSpec spec;
  PlacementStatus status;
  api::FieldErrors problems;  // of the spec
};

// The status alone, for patches.
kube::Json StatusToJson(const PlacementStatus& status);

inline constexpr kube::Resource kPlacements{kGroup, "v1beta1", "placements", "Placement"};

}  // namespace fleet
