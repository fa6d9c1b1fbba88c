// SPDX-License-Identifier: Apache-2.0
// World: a fleet and a Placement for tests of scheduling, in few words:
//
//   World w(3);                          // c1 c2 c3 in the set "global", bound to the namespace
//   w.N(2).Exact().BuiltIn(kResourceAllocatableCpu).Cpu({10, 7, 9});
//   Scheduled result = w.Run();
//   Names(result)                        // "c1 c3"; groups are separated by " | "
#pragma once

#include <chrono>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fleet/api/placement.h"
#include "fleet/scheduling/fleet.h"
#include "fleet/scheduling/schedule.h"
#include "fleet/scheduling/testing/cel_table.h"
#include "kube/base/clock.h"

namespace fleet {

struct World {
  explicit World(size_t clusters);

  World& N(int32_t number);
  World& Exact();
  World& BuiltIn(std::string_view name, int32_t weight = 1);
  // The score "s" of the object "r".
  World& AddOn(int32_t weight = 1);
  // The values of c1, c2, ...; nullopt: not reported.
  World& Cpu(std::vector<std::optional<double>> values);
  World& Memory(std::vector<std::optional<double>> values);
  World& Scores(std::vector<std::optional<int32_t>> values);
  // Entries of this Placement, and of others.
  World& Own(const std::string& cluster);
  World& Others(const std::string& cluster, int64_t entries = 1);
  World& Label(const std::string& cluster, const std::string& key, const std::string& value = "");
  World& Claim(const std::string& cluster, const std::string& key, const std::string& value = "");
  World& Taint(const std::string& cluster, fleet::Taint taint);
  World& Tolerate(Toleration toleration);

  ManagedCluster& At(const std::string& cluster) { return fleet.clusters.at(cluster); }
  AddOnPlacementScore& ScoreOf(const std::string& cluster) { return fleet.scores[cluster]["r"]; }
  void Add(const std::string& cluster);
  Scheduled Run(const ScheduleOptions& options = {});

  Placement placement;
  Fleet fleet;
  DecisionCounts own;
  CelTable cel;
  kube::WallTime now = kube::WallTime(std::chrono::hours(24 * 365 * 50));

 private:
  std::map<std::string, std::map<std::string, std::string>> labels_;
  std::map<std::string, std::map<std::string, std::string>> claims_;
};

// A selector of one expression: {key In values}, or {key Exists} without values.
kube::meta::LabelSelector Having(const std::string& key,
                                 std::initializer_list<const char*> values = {});

std::string Names(const DecisionGroup& group);
std::string Names(const Scheduled& result);   // of all groups
std::string Totals(const Scheduled& result);  // "100 0 -33", of the feasible clusters by name
std::string Picks(const Scheduled& result);   // names in the order of picking

}  // namespace fleet
