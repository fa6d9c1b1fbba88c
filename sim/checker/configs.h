// SPDX-License-Identifier: Apache-2.0
// The two kinds of configurations, as the model reads them from the stored objects
// (docs/reference.md, the tables of fields).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/checker/commit.h"

namespace sim::checker {

struct PlatformWeight {
  std::string architecture;
  int weight = 0;

  bool operator==(const PlatformWeight&) const = default;
};

// spec.plugins.architectureTolerations
struct TolerationPlugin {
  bool enabled = false;
  std::vector<std::string> effects;
  std::string key;
};

// A PodPlacementConfig.
struct NamespaceConfig {
  std::string name;
  // metadata.creationTimestamp, whose order is that of time.
  std::string created;
  int64_t priority = 0;
  bool deleting = false;
  Json selector;
  // Empty unless enabled.
  std::vector<PlatformWeight> preferences;
  std::optional<TolerationPlugin> tolerations;
  // Has CEL rules, which the model does not evaluate.
  bool rules = false;

  static NamespaceConfig Read(const Json& object);
};

// The ClusterPodPlacementConfig; one that is not there has the defaults.
struct ClusterConfig {
  bool exists = false;
  bool deleting = false;
  Json namespace_selector;
  std::vector<std::string> excluded_schedulers;
  std::vector<PlatformWeight> preferences;
  bool namespace_precedence = false;
  std::optional<TolerationPlugin> tolerations;
  std::string fallback;
  bool amd64_levels = false;
  // knownImages is PlaceAtCreation, and nothing excludes it.
  bool places = false;
  Time takeover_after = std::chrono::seconds(30);
  Time retry_period = std::chrono::seconds(60);

  static ClusterConfig Read(const Json& object);
};

// The configurations of a namespace at one time.
using NamespaceConfigs = std::vector<std::shared_ptr<const NamespaceConfig>>;

struct InForce {
  // By descending priority.
  NamespaceConfigs configs;
  // Two configurations have one priority and one creationTimestamp: the documents do not say which
  // of them is applied.
  bool unclear = false;
};
// Of those with one priority, the oldest is in force.
InForce InForceOf(NamespaceConfigs configs);

// "30s", "1m30s"; nullopt for anything else.
std::optional<Time> ParsePeriod(std::string_view text);

}  // namespace sim::checker
