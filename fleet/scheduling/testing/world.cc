// SPDX-License-Identifier: Apache-2.0
#include "fleet/scheduling/testing/world.h"

namespace fleet {

World::World(size_t clusters) {
  placement.ns = "ns";
  placement.name = "p";
  fleet.sets["global"] = {.name = "global", .selects = ManagedClusterSet::Selects::kBySelector};
  fleet.bindings["ns"] = {"global"};
  for (size_t i = 1; i <= clusters; ++i) Add("c" + std::to_string(i));
}

void World::Add(const std::string& cluster) { fleet.clusters[cluster].name = cluster; }

World& World::N(int32_t number) {
  placement.spec.number_of_clusters = number;
  return *this;
}

World& World::Exact() {
  placement.spec.mode = "Exact";
  return *this;
}

World& World::BuiltIn(std::string_view name, int32_t weight) {
  placement.spec.prioritizers.push_back({.built_in = std::string(name), .weight = weight});
  return *this;
}

World& World::AddOn(int32_t weight) {
  placement.spec.prioritizers.push_back(
      {.type = "AddOn", .add_on = AddOnScore{.resource = "r", .score = "s"}, .weight = weight});
  return *this;
}

World& World::Cpu(std::vector<std::optional<double>> values) {
  for (size_t i = 0; i < values.size(); ++i)
    At("c" + std::to_string(i + 1)).allocatable_cpu = values[i];
  return *this;
}

World& World::Memory(std::vector<std::optional<double>> values) {
  for (size_t i = 0; i < values.size(); ++i)
    At("c" + std::to_string(i + 1)).allocatable_memory = values[i];
  return *this;
}

World& World::Scores(std::vector<std::optional<int32_t>> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i]) ScoreOf("c" + std::to_string(i + 1)).scores["s"] = *values[i];
  }
  return *this;
}

World& World::Own(const std::string& cluster) {
  ++own[cluster];
  ++fleet.decisions[cluster];
  return *this;
}

World& World::Others(const std::string& cluster, int64_t entries) {
  fleet.decisions[cluster] += entries;
  return *this;
}

World& World::Label(const std::string& cluster, const std::string& key, const std::string& value) {
  labels_[cluster][key] = value;
  At(cluster).labels = Properties(labels_[cluster]);
  return *this;
}

World& World::Claim(const std::string& cluster, const std::string& key, const std::string& value) {
  claims_[cluster][key] = value;
  At(cluster).claims = Properties(claims_[cluster]);
  return *this;
}

World& World::Taint(const std::string& cluster, fleet::Taint taint) {
  At(cluster).taints.push_back(std::move(taint));
  return *this;
}

World& World::Tolerate(Toleration toleration) {
  placement.spec.tolerations.push_back(std::move(toleration));
  return *this;
}

Scheduled World::Run(const ScheduleOptions& options) {
  return Schedule(placement, own, fleet, now, cel, options);
}

kube::meta::LabelSelector Having(const std::string& key,
                                 std::initializer_list<const char*> values) {
  kube::meta::LabelSelector selector;
  kube::meta::LabelSelectorRequirement& expression = *selector.add_match_expressions();
  expression.set_key(key);
  expression.set_operator_(values.size() == 0 ? "Exists" : "In");
  for (const char* value : values) expression.add_values(value);
  return selector;
}

std::string Names(const DecisionGroup& group) {
  std::string text;
  for (const SelectedCluster& selected : group.clusters)
    text += (text.empty() ? "" : " ") + selected.cluster->name;
  return text;
}

std::string Names(const Scheduled& result) {
  std::string text;
  for (size_t i = 0; i < result.groups.size(); ++i)
    text += (i > 0 ? " | " : "") + Names(result.groups[i]);
  return text;
}

std::string Totals(const Scheduled& result) {
  std::string text;
  for (int64_t total : result.totals) text += (text.empty() ? "" : " ") + std::to_string(total);
  return text;
}

std::string Picks(const Scheduled& result) {
  std::string text;
  for (size_t i : result.picks) text += (text.empty() ? "" : " ") + result.feasible[i]->name;
  return text;
}

}  // namespace fleet
