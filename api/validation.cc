// SPDX-License-Identifier: Apache-2.0
#include "api/validation.h"

#include <algorithm>
#include <limits>
#include <set>
#include <span>

#include "api/architecture.h"
#include "api/cel_rule.h"
#include "api/json_reader.h"
#include "api/names.h"
#include "api/platform.h"
#include "kube/base/join.h"

namespace api {
namespace {

bool SameObject(const PodPlacementConfig& a, const PodPlacementConfig& b) {
  return a.metadata().namespace_() == b.metadata().namespace_() &&
         a.metadata().name() == b.metadata().name();
}

void RequireFreePriority(const PodPlacementConfig& config, const PodPlacementConfigs& existing,
                         FieldErrors& errors) {
  for (const PodPlacementConfig* other : existing) {
    if (SameObject(*other, config) || other->spec.priority != config.spec.priority) continue;
    AddProblem(errors, "spec.priority",
               std::to_string(config.spec.priority) + " is already used by PodPlacementConfig " +
                   other->metadata().name() + " in this namespace");
    return;
  }
}

void RequireRoom(const PodPlacementConfig& config, const PodPlacementConfigs& existing,
                 FieldErrors& errors) {
  size_t bytes = config.BudgetBytes();
  for (const PodPlacementConfig* other : existing) {
    if (!SameObject(*other, config)) bytes += other->BudgetBytes();
  }
  if (bytes <= kMaxNamespaceConfigBytes) return;
  AddProblem(errors, "spec",
             "the PodPlacementConfigs of this namespace would have " + std::to_string(bytes) +
                 " bytes as JSON, at most " + std::to_string(kMaxNamespaceConfigBytes) +
                 " are allowed: delete some or make them smaller");
}

void CollectUnknown(std::span<const Platform> platforms, std::set<std::string>& unknown) {
  for (const Platform& platform : platforms) {
    if (!IsKnownArchitecture(platform.architecture)) unknown.insert(platform.architecture);
  }
}

std::string WarningOf(const std::set<std::string>& unknown) {
  if (unknown.empty()) return "";
  constexpr size_t kShown = 2;
  std::vector<std::string> quoted;
  for (const std::string& name : unknown) quoted.push_back('"' + name + '"');
  return std::string(quoted.size() == 1 ? "architecture " : "architectures ") +
         kube::Join(quoted, kShown) + (quoted.size() == 1 ? " is" : " are") +
         " not known; known ones are " + kube::Join(kKnownArchitectures);
}

// Compares problems as well: the typed spec does not have the fields that were refused.
template <class T>
bool SpecUnchanged(const T& old_config, const T& config) {
  return old_config.problems == config.problems &&
         SpecToJson(old_config.spec) == SpecToJson(config.spec);
}

}  // namespace

FieldErrors ValidateCreate(const PodPlacementConfig& config, const PodPlacementConfigs& existing,
                           bool cluster_config_exists) {
  FieldErrors errors = config.problems;
  if (!cluster_config_exists) {
    AddProblem(errors, "metadata.name",
               "the ClusterPodPlacementConfig \"" + std::string(kClusterConfigName) +
                   "\" does not exist: create it before a PodPlacementConfig");
  }
  RequireFreePriority(config, existing, errors);
  if (!config.too_large) RequireRoom(config, existing, errors);
  return errors;
}

FieldErrors ValidateUpdate(const PodPlacementConfig& old_config, const PodPlacementConfig& config,
                           const PodPlacementConfigs& existing) {
  if (config.metadata().has_deletion_timestamp() || SpecUnchanged(old_config, config)) return {};
  FieldErrors errors = config.problems;
  if (old_config.spec.priority != config.spec.priority)
    RequireFreePriority(config, existing, errors);
  if (!config.too_large && config.BudgetBytes() > old_config.BudgetBytes())
    RequireRoom(config, existing, errors);
  return errors;
}

FieldErrors ValidateCreate(const ClusterPodPlacementConfig& config) {
  FieldErrors errors = config.problems;
  if (config.metadata().name() != kClusterConfigName) {
    AddProblem(errors, "metadata.name",
               "must be \"" + std::string(kClusterConfigName) +
                   "\": only one ClusterPodPlacementConfig is allowed");
  }
  return errors;
}

FieldErrors ValidateUpdate(const ClusterPodPlacementConfig& old_config,
                           const ClusterPodPlacementConfig& config) {
  if (config.metadata().has_deletion_timestamp() || SpecUnchanged(old_config, config)) return {};
  return config.problems;
}

FieldErrors ValidateDelete(const ClusterPodPlacementConfig& config,
                           const PodPlacementConfigs& existing) {
  if (existing.empty() || config.metadata().name() != kClusterConfigName) return {};
  constexpr size_t kNamed = 3;
  std::string names;
  for (size_t i = 0; i < std::min(existing.size(), kNamed); ++i) {
    names += (i == 0 ? "" : ", ") + existing[i]->metadata().namespace_() + "/" +
             existing[i]->metadata().name();
  }
  if (existing.size() > kNamed) names += " and others";
  return {{"metadata.name", "cannot be deleted while PodPlacementConfigs exist: " + names}};
}

const Platform* OutweighedBy(const PodPlacementConfig& config,
                             const ClusterPodPlacementConfig& cluster_config) {
  if (config.Preferences().empty() || cluster_config.NamespaceTakesPrecedence()) return nullptr;
  auto lighter = [](const Platform& a, const Platform& b) { return a.weight < b.weight; };
  const Platform& own = *std::ranges::max_element(config.Preferences(), lighter);
  const Platform* outweighed_by = nullptr;
  for (const Platform& platform : cluster_config.Preferences()) {
    bool named = std::ranges::any_of(config.Preferences(), [&](const Platform& other) {
      return other.architecture == platform.architecture;
    });
    if (!named && lighter(outweighed_by == nullptr ? own : *outweighed_by, platform))
      outweighed_by = &platform;
  }
  return outweighed_by;
}

std::string WarningOfUnknownArchitectures(const PodPlacementConfig& config) {
  std::set<std::string> unknown;
  if (config.spec.plugins && config.spec.plugins->node_affinity_scoring)
    CollectUnknown(config.spec.plugins->node_affinity_scoring->platforms, unknown);
  for (const CelRule& rule : config.spec.cel_rules) CollectUnknown(rule.platforms, unknown);
  return WarningOf(unknown);
}

std::string WarningOfUnknownArchitectures(const ClusterPodPlacementConfig& config) {
  std::set<std::string> unknown;
  if (config.spec.plugins && config.spec.plugins->node_affinity_scoring)
    CollectUnknown(config.spec.plugins->node_affinity_scoring->platforms, unknown);
  const std::string& fallback = config.spec.fallback_architecture;
  if (!fallback.empty() && !IsKnownArchitecture(fallback)) unknown.insert(fallback);
  return WarningOf(unknown);
}

bool Precedes(const PodPlacementConfig& a, const PodPlacementConfig& b) {
  if (a.spec.priority != b.spec.priority) return a.spec.priority > b.spec.priority;
  auto created = [](const PodPlacementConfig& config) {
    return config.metadata().has_creation_timestamp()
               ? config.metadata().creation_timestamp().seconds()
               : std::numeric_limits<int64_t>::max();
  };
  if (created(a) != created(b)) return created(a) < created(b);
  return a.metadata().name() < b.metadata().name();
}

const PodPlacementConfig* PriorityHolder(const PodPlacementConfig& config,
                                         const PodPlacementConfigs& existing) {
  const PodPlacementConfig* holder = nullptr;
  for (const PodPlacementConfig* other : existing) {
    bool rival = !SameObject(*other, config) &&
                 other->metadata().namespace_() == config.metadata().namespace_() &&
                 other->spec.priority == config.spec.priority && Precedes(*other, config);
    if (rival && (holder == nullptr || Precedes(*other, *holder))) holder = other;
  }
  return holder;
}

PodPlacementConfigs InForce(PodPlacementConfigs existing) {
  std::sort(
      existing.begin(), existing.end(),
      [](const PodPlacementConfig* a, const PodPlacementConfig* b) { return Precedes(*a, *b); });
  auto same_priority = [](const PodPlacementConfig* a, const PodPlacementConfig* b) {
    return a->spec.priority == b->spec.priority;
  };
  existing.erase(std::unique(existing.begin(), existing.end(), same_priority), existing.end());
  return existing;
}

}  // namespace api
