// SPDX-License-Identifier: Apache-2.0
#include "fleet/scheduling/testing/random_world.h"

#include <limits>
#include <random>
#include <vector>

namespace fleet {
namespace {

using std::chrono::seconds;

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  World Make() {
    World world(Below(13));
    MakeSets(world);
    for (auto& [name, cluster] : world.fleet.clusters) MakeCluster(world, cluster);
    MakeDecisions(world);
    MakePlacement(world);
    return world;
  }

 private:
  // mt19937 gives the same numbers everywhere, the distributions of the library do not.
  size_t Below(size_t end) { return random_() % end; }
  bool OneIn(size_t n) { return Below(n) == 0; }
  template <class T>
  T Of(const std::vector<T>& values) {
    return values[Below(values.size())];
  }
  std::string Text(const std::vector<std::string>& values) { return Of(values); }

  void MakeSets(World& world) {
    using Selects = ManagedClusterSet::Selects;
    world.fleet.sets["default"] = {.name = "default"};
    world.fleet.sets["prod"] = {.name = "prod", .selects = Selects::kBySelector};
    world.fleet.sets["prod"].selector = Selector();
    world.fleet.sets["none"] = {.name = "none", .selects = Selects::kNothing};
    auto& bound = world.fleet.bindings["ns"];
    if (OneIn(4)) bound.clear();
    for (const char* set : {"default", "prod", "none", "gone"}) {
      if (OneIn(3)) bound.insert(set);
    }
  }

  kube::meta::LabelSelector Selector() {
    kube::meta::LabelSelector selector;
    if (OneIn(2)) (*selector.mutable_match_labels())[Text(kKeys)] = Text(kValues);
    if (OneIn(2)) {
      auto& expression = *selector.add_match_expressions();
      expression.set_key(Text(kKeys));
      expression.set_operator_(Text({"In", "NotIn", "Exists", "DoesNotExist"}));
      if (expression.operator_().ends_with("In")) {
        for (size_t i = 0; i <= Below(2); ++i) expression.add_values(Text(kValues));
      }
    }
    return selector;
  }

  ClusterSelector RandomSelector() {
    ClusterSelector selector;
    if (OneIn(2)) selector.labels = Selector();
    if (OneIn(3)) selector.claims = Selector();
    selector.claims.clear_match_labels();
    return selector;
  }

  std::map<std::string, std::string> Values(bool mostly) {
    std::map<std::string, std::string> values;
    for (const std::string& key : kKeys) {
      if (mostly ? !OneIn(6) : OneIn(2)) values[key] = Text(kValues);
    }
    return values;
  }

  std::optional<kube::WallTime> Time(kube::WallTime now) {
    if (OneIn(5)) return std::nullopt;
    return now + seconds(static_cast<int64_t>(Below(9)) * 100 - 400);
  }

  void MakeCluster(World& world, ManagedCluster& cluster) {
    auto labels = Values(mostly_keys_);
    if (OneIn(2)) labels[std::string(kClusterSetLabel)] = Text({"default", "prod", "x"});
    cluster.labels = Properties(labels);
    cluster.claims = Properties(Values(mostly_keys_));
    cluster.deleting = OneIn(12);
    for (size_t i = Below(8); i >= 6; --i) {
      cluster.taints.push_back(
          {.key = Text({"t1", "t2"}),
           .value = Text({"", "v"}),
           .effect = Text({"NoSelect", "PreferNoSelect", "NoSelectIfNew", "?"}),
           .time_added = Time(world.now)});
    }
    const std::vector<std::optional<double>> amounts = {std::nullopt, 0, 1, 3, 3.5, 8, 1e18, -2};
    cluster.allocatable_cpu = Of(amounts);
    cluster.allocatable_memory = Of(amounts);
    for (const char* resource : {"r", "q"}) {
      if (OneIn(3)) continue;
      AddOnPlacementScore& score = world.fleet.scores[cluster.name][resource];
      for (const char* name : {"s", "t"}) {
        if (!OneIn(4)) score.scores[name] = static_cast<int32_t>(Below(201)) - 100;
      }
      if (OneIn(3)) score.valid_until = Time(world.now);
    }
  }

  void MakeDecisions(World& world) {
    const bool some_own = OneIn(2);
    for (const auto& [name, cluster] : world.fleet.clusters) {
      if (some_own && OneIn(3)) world.Own(name);
      if (some_own && OneIn(12)) world.Own(name);
      if (OneIn(3)) world.Others(name, static_cast<int64_t>(Below(5)));
    }
    if (OneIn(4)) world.Others("gone", static_cast<int64_t>(Below(9)));
    if (OneIn(9)) world.Own("gone");
  }

  void MakePlacement(World& world) {
    PlacementSpec& spec = world.placement.spec;
    if (OneIn(60)) world.placement.name = std::string(64, 'p');
    if (OneIn(3)) {
      for (const char* set : {"global", "default", "prod", "gone"}) {
        if (OneIn(2)) spec.cluster_sets.push_back(set);
      }
    }
    if (OneIn(2)) spec.number_of_clusters = static_cast<int32_t>(Below(9)) - (OneIn(9) ? 4 : 0);
    MakePredicates(world);
    MakePrioritizers(spec);
    MakeTolerations(spec);
    if (OneIn(2)) {
      for (size_t i = 0; i <= Below(3); ++i) {
        spec.spread.push_back({.key = Text(kKeys),
                               .claim = OneIn(4),
                               .max_skew = static_cast<int32_t>(1 + Below(3)),
                               .do_not_schedule = OneIn(2)});
      }
    }
    if (OneIn(2)) {
      if (OneIn(2)) {
        spec.clusters_per_group = static_cast<int64_t>(Below(8)) - 1;
      } else {
        spec.clusters_per_group =
            Text({"25%", "33.3%", "0%", "200%", "-5%", "7%", OneIn(5) ? "3" : "50%"});
      }
      for (size_t i = Below(3); i > 0; --i)
        spec.groups.push_back({.name = "g" + std::to_string(i), .selector = RandomSelector()});
    }
    if (OneIn(3)) spec.sort_by = SortBy::kScore;
  }

  void MakePredicates(World& world) {
    for (size_t i = Below(6); i >= 4; --i)
      world.placement.spec.predicates.push_back(RandomSelector());
    if (!OneIn(6)) return;
    for (const char* expression : {"x", "y"}) {
      auto& true_for = world.cel.true_for[expression];
      for (const auto& [name, cluster] : world.fleet.clusters) {
        if (!OneIn(4)) true_for.insert(name);
        if (OneIn(9)) world.cel.fails_for[expression].insert(name);
      }
    }
    ClusterSelector& selector = world.placement.spec.predicates.emplace_back(RandomSelector());
    selector.cel = {Text({"x", "y"}), Text({"x", "y", OneIn(4) ? "broken" : "x"})};
  }

  void MakePrioritizers(PlacementSpec& spec) {
    spec.mode = Text({"", "Additive", "Exact", "Exact", OneIn(9) ? "Sometimes" : ""});
    for (size_t i = Below(4); i > 0; --i) {
      PrioritizerConfig config;
      config.weight = static_cast<int32_t>(Below(21)) - 10;
      if (OneIn(3)) config.weight = Of<int32_t>({0, 1, 2});
      if (OneIn(2)) {
        config.type = "AddOn";
        if (!OneIn(20))
          config.add_on = AddOnScore{.resource = Text({"r", "q", "z"}), .score = Text({"s", "t"})};
      } else {
        config.type = Text({"", "BuiltIn"});
        config.built_in = Text({"Balance", "Steady", "ResourceAllocatableCPU",
                                "ResourceAllocatableMemory", "Spread", "Spread"});
        if (OneIn(30)) config.built_in = "Magic";
      }
      spec.prioritizers.push_back(config);
    }
  }

  void MakeTolerations(PlacementSpec& spec) {
    for (size_t i = Below(4); i > 0; --i) {
      Toleration toleration{.key = Text({"t1", "t2"}),
                            .op = Text({"", "Equal", "Exists", "Exists", "Like"}),
                            .effect = Text({"", "", "NoSelect", "NoSelectIfNew", "?"})};
      if (toleration.op != "Exists") toleration.value = Text({"", "v"});
      if (toleration.op == "Exists" && OneIn(3)) toleration.key = "";
      if (OneIn(40)) toleration.key = "";
      if (OneIn(40)) toleration.value = "v";
      if (OneIn(2)) toleration.seconds = static_cast<int64_t>(Below(9)) * 100;
      if (OneIn(20)) {
        toleration.seconds = Of<int64_t>({std::numeric_limits<int64_t>::max(),
                                          std::numeric_limits<int64_t>::min(), -1, 9'223'372'036});
      }
      spec.tolerations.push_back(toleration);
    }
  }

  const std::vector<std::string> kKeys = {"a", "b", "zone"};
  const std::vector<std::string> kValues = {"", "1", "2", "3"};
  std::mt19937 random_;
  const bool mostly_keys_ = OneIn(2);  // of the clusters: spread needs keys
};

}  // namespace

World RandomWorld(uint32_t seed) { return Generator(seed).Make(); }

}  // namespace fleet
