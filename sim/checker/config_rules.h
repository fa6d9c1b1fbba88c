// SPDX-License-Identifier: Apache-2.0
// What the operator ensures of the configurations that are stored. Once its validating webhook is
// configured, they are announced before (docs/decisions/announcements.md), none is created without
// a ClusterPodPlacementConfig, and no two of a namespace have one priority. The
// ClusterPodPlacementConfig stays while there are PodPlacementConfigs. Writes at the same time may
// pass; those of the last moment are not compared.
#pragma once

#include "sim/checker/history.h"
#include "sim/checker/violation.h"

namespace sim::checker {

class ConfigRules {
 public:
  explicit ConfigRules(const Facts& facts) : facts_(facts) {}

  // `history`: before the commit.
  void Check(const Commit& commit, const Writer& writer, const History& history,
             Violations& violations);

 private:
  void CheckConfig(const Commit& commit, const History& history, Violations& violations) const;
  void CheckAnnounced(const Commit& commit, const History& history, Violations& violations) const;
  void CheckClusterConfig(const Commit& commit, const History& history,
                          Violations& violations) const;

  const Facts& facts_;
  // Whether the webhook is configured.
  Timeline<bool> configured_{false};
};

}  // namespace sim::checker
