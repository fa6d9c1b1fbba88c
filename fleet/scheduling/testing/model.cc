// SPDX-License-Identifier: Apache-2.0
#include "fleet/scheduling/testing/model.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

namespace fleet {
namespace {

using kube::WallTime;
using kube::meta::LabelSelector;
using Texts = std::vector<std::string>;
using MaybeText = std::optional<std::string>;

MaybeText ValueOf(const Properties& properties, const std::string& key) {
  for (size_t i = 0; i < properties.size(); ++i) {
    if (properties.At(i).first == key) return std::string(properties.At(i).second);
  }
  return std::nullopt;
}

bool SelectorMatches(const LabelSelector& selector, const Properties& properties) {
  for (const auto& [key, value] : selector.match_labels()) {
    if (ValueOf(properties, key) != value) return false;
  }
  for (const auto& expression : selector.match_expressions()) {
    MaybeText value = ValueOf(properties, expression.key());
    bool listed = false;
    for (const std::string& wanted : expression.values()) listed |= value == wanted;
    if (expression.operator_() == "In" && !listed) return false;
    if (expression.operator_() == "NotIn" && listed) return false;
    if (expression.operator_() == "Exists" && !value) return false;
    if (expression.operator_() == "DoesNotExist" && value) return false;
  }
  return true;
}

struct Weight {
  std::string name;
  int64_t weight;
  std::optional<AddOnScore> add_on;
};

class Model {
 public:
  Model(const Placement& placement, const DecisionCounts& own, const Fleet& fleet, WallTime now,
        CelSelectors& cel)
      : spec_(placement.spec),
        placement_(placement),
        own_(own),
        fleet_(fleet),
        now_(now),
        cel_(cel) {}

  ModelResult Run() {
    result_.misconfigured = Misconfigured();
    if (!result_.misconfigured.empty()) return result_;
    Texts eligible = Eligible();
    for (const std::string& name : eligible) {
      if (Matches(name)) result_.matching.push_back(name);
    }
    for (const std::string& name : result_.matching) {
      if (Passes(name, now_)) result_.feasible.push_back(name);
    }
    ScoreAll();
    const size_t wanted = spec_.number_of_clusters ? static_cast<size_t>(*spec_.number_of_clusters)
                                                   : result_.feasible.size();
    Pick(wanted);
    result_.unscheduled = static_cast<int64_t>(wanted) - static_cast<int64_t>(picks().size());
    Divide();
    Requeue();
    if (result_.reason.empty()) {
      result_.reason = eligible.empty()           ? "AllManagedClusterSetsEmpty"
                       : picks().empty()          ? "NoManagedClusterMatched"
                       : result_.unscheduled == 0 ? "AllDecisionsScheduled"
                                                  : "NotAllDecisionsScheduled";
    }
    return result_;
  }

 private:
  const ManagedCluster& Cluster(const std::string& name) const { return fleet_.clusters.at(name); }
  Texts& picks() { return result_.picks; }

  int64_t Entries(const std::string& name) const {
    int64_t all = fleet_.decisions.contains(name) ? fleet_.decisions.at(name) : 0;
    int64_t mine = own_.contains(name) ? own_.at(name) : 0;
    return all - mine;
  }
  bool Mine(const std::string& name) const { return own_.contains(name) && own_.at(name) > 0; }

  std::string Misconfigured() {
    if (placement_.name.size() > 63) return "Placement";
    if (spec_.number_of_clusters && *spec_.number_of_clusters < 0) return "Placement";
    for (const ClusterSelector& predicate : spec_.predicates) {
      for (const std::string& expression : predicate.cel) {
        if (cel_.Check(expression)) return "Predicate";
      }
    }
    for (const Toleration& toleration : spec_.tolerations) {
      const bool exists = toleration.op == "Exists";
      if (toleration.key.empty() && !exists) return "TaintToleration";
      if (exists && !toleration.value.empty()) return "TaintToleration";
    }
    if (const auto* text = std::get_if<std::string>(&spec_.clusters_per_group)) {
      if (text->empty() || text->back() != '%') return "DecisionStrategy";
    }
    if (spec_.mode != "" && spec_.mode != "Additive" && spec_.mode != "Exact") return "Prioritizer";
    for (const Weight& weight : Weights()) {
      if (weight.weight == 0) continue;
      if (weight.name == "AddOn" && !weight.add_on) return "Prioritizer";
      if (weight.name == "AddOn") continue;
      if (weight.name != "Balance" && weight.name != "Steady" && weight.name != "Spread" &&
          weight.name != "ResourceAllocatableCPU" && weight.name != "ResourceAllocatableMemory")
        return "Prioritizer";
    }
    return "";
  }

  std::vector<Weight> Weights() const {
    std::map<std::string, int64_t> built_in;
    if (spec_.mode != "Exact") built_in = {{"Balance", 1}, {"Steady", 1}, {"Spread", 2}};
    std::vector<Weight> weights;
    for (const PrioritizerConfig& config : spec_.prioritizers) {
      if (config.type == "AddOn") {
        weights.push_back({"AddOn", config.weight, config.add_on});
      } else {
        built_in[config.built_in] = config.weight;
      }
    }
    for (const auto& [name, weight] : built_in) weights.push_back({name, weight, std::nullopt});
    return weights;
  }

  Texts Eligible() {
    std::set<std::string> bound;
    if (fleet_.bindings.contains(placement_.ns)) {
      for (const std::string& name : fleet_.bindings.at(placement_.ns)) {
        if (fleet_.sets.contains(name)) bound.insert(name);
      }
    }
    std::set<std::string> sets;
    for (const std::string& name : bound) {
      const Texts& named = spec_.cluster_sets;
      if (named.empty() || std::count(named.begin(), named.end(), name) > 0) sets.insert(name);
    }
    if (bound.empty()) {
      result_.reason = "NoManagedClusterSetBindings";
    } else if (sets.empty()) {
      result_.reason = "NoIntersection";
    }
    std::set<std::string> eligible;
    for (const std::string& set_name : sets) {
      const ManagedClusterSet& set = fleet_.sets.at(set_name);
      for (const auto& [name, cluster] : fleet_.clusters) {
        bool member = false;
        if (set.selects == ManagedClusterSet::Selects::kByLabel)
          member =
              ValueOf(cluster.labels, "cluster.open-cluster-management.io/clusterset") == set_name;
        if (set.selects == ManagedClusterSet::Selects::kBySelector)
          member = SelectorMatches(set.selector, cluster.labels);
        if (member && !cluster.deleting) eligible.insert(name);
      }
    }
    return {eligible.begin(), eligible.end()};
  }

  bool Matches(const std::string& name) {
    if (spec_.predicates.empty()) return true;
    for (const ClusterSelector& predicate : spec_.predicates) {
      bool cel = predicate.cel.empty() || cel_.Matches(predicate.cel, name).matches;
      if (SelectorMatches(predicate.labels, Cluster(name).labels) &&
          SelectorMatches(predicate.claims, Cluster(name).claims) && cel)
        return true;
    }
    return false;
  }

  static bool Fits(const Toleration& toleration, const Taint& taint) {
    if (toleration.effect != "" && toleration.effect != taint.effect) return false;
    if (toleration.key != "" && toleration.key != taint.key) return false;
    if (toleration.op == "Exists") return true;
    if (toleration.op == "" || toleration.op == "Equal") return toleration.value == taint.value;
    return false;
  }

  // Nanoseconds since 1970.
  static __int128 Nanoseconds(WallTime time) { return time.time_since_epoch().count(); }
  static __int128 End(const Toleration& toleration, const Taint& taint) {
    return Nanoseconds(*taint.time_added) +
           static_cast<__int128>(*toleration.seconds) * 1'000'000'000;
  }

  bool Passes(const std::string& name, WallTime at) const {
    for (const Taint& taint : Cluster(name).taints) {
      if (taint.effect == "PreferNoSelect") continue;
      if (taint.effect == "NoSelectIfNew" && Mine(name)) continue;
      bool tolerated = false;
      for (const Toleration& toleration : spec_.tolerations) {
        if (!Fits(toleration, taint)) continue;
        if (!toleration.seconds) tolerated = true;
        if (toleration.seconds && taint.time_added)
          tolerated |= Nanoseconds(at) < End(toleration, taint);
      }
      if (!tolerated) return false;
    }
    return true;
  }

  void ScoreAll() {
    for (const std::string& name : result_.feasible) result_.totals[name] = 0;
    for (const Weight& weight : Weights()) {
      if (weight.weight == 0 || weight.name == "Spread") continue;
      std::map<std::string, int64_t> scores = ScoresOf(weight);
      for (const auto& [name, score] : scores) result_.totals[name] += weight.weight * score;
      std::string name = weight.name;
      if (weight.add_on) name += "/" + weight.add_on->resource + "/" + weight.add_on->score;
      result_.scores[name] = scores;
    }
  }

  std::map<std::string, int64_t> ScoresOf(const Weight& weight) {
    std::map<std::string, int64_t> scores;
    if (weight.name == "Balance") {
      int64_t most = 0;
      for (const auto& [name, entries] : fleet_.decisions) most = std::max(most, Entries(name));
      for (const std::string& name : result_.feasible) {
        double n = static_cast<double>(Entries(name));
        double m = static_cast<double>(most);
        scores[name] = n == 0 ? 100 : 2 * static_cast<int64_t>(std::trunc(100 * (0.5 - n / m)));
      }
    } else if (weight.name == "Steady") {
      for (const std::string& name : result_.feasible) scores[name] = Mine(name) ? 100 : 0;
    } else if (weight.add_on) {
      bool warned = false;
      for (const std::string& name : result_.feasible) {
        scores[name] = 0;
        if (!fleet_.scores.contains(name)) continue;
        if (!fleet_.scores.at(name).contains(weight.add_on->resource)) continue;
        const AddOnPlacementScore& object = fleet_.scores.at(name).at(weight.add_on->resource);
        const bool expired = object.valid_until && now_ > *object.valid_until;
        warned |= expired;
        if (expired || !object.scores.contains(weight.add_on->score)) continue;
        scores[name] = object.scores.at(weight.add_on->score);
        if (object.valid_until) changes_.insert(*object.valid_until + std::chrono::nanoseconds(1));
      }
      result_.warnings += warned ? 1 : 0;
    } else {
      std::map<std::string, double> values;
      for (const std::string& name : result_.feasible) {
        auto value = weight.name == "ResourceAllocatableCPU" ? Cluster(name).allocatable_cpu
                                                             : Cluster(name).allocatable_memory;
        if (value) values[name] = *value;
      }
      std::set<double> sorted;
      for (const auto& [name, value] : values) sorted.insert(value);
      for (const auto& [name, v] : values) {
        double min = *sorted.begin();
        double max = *sorted.rbegin();
        double score = max == min ? 100 : ((v - min) / (max - min) - 0.5) * 2 * 100;
        scores[name] = static_cast<int64_t>(std::trunc(score));
      }
    }
    return scores;
  }

  // Values of the first `terms` topology keys.
  std::vector<MaybeText> Domain(const std::string& name, size_t terms) const {
    std::vector<MaybeText> values;
    for (size_t i = 0; i < terms; ++i) {
      const SpreadConstraint& term = spec_.spread[i];
      values.push_back(ValueOf(term.claim ? Cluster(name).claims : Cluster(name).labels, term.key));
    }
    return values;
  }

  // Picks of each sibling of the domain of `name`, by the value of term `i`.
  std::map<std::string, int64_t> Siblings(const Texts& all, const std::string& name, size_t i) {
    std::map<std::string, int64_t> counts;
    for (const std::string& other : all) {
      auto domain = Domain(other, i + 1);
      if (domain.back() && Domain(other, i) == Domain(name, i)) counts[*domain.back()] += 0;
    }
    for (const std::string& other : picks()) {
      auto domain = Domain(other, i + 1);
      if (domain.back() && Domain(other, i) == Domain(name, i)) counts[*domain.back()] += 1;
    }
    return counts;
  }

  static std::pair<int64_t, int64_t> Range(const std::map<std::string, int64_t>& counts) {
    std::set<int64_t> values;
    for (const auto& [value, count] : counts) values.insert(count);
    return {*values.begin(), *values.rbegin()};
  }

  bool SpreadAllows(const Texts& all, const std::string& name) {
    for (size_t i = 0; i < spec_.spread.size(); ++i) {
      if (!spec_.spread[i].do_not_schedule) continue;
      std::map<std::string, int64_t> counts = Siblings(all, name, i);
      int64_t count = ++counts[*Domain(name, i + 1).back()];
      if (count - Range(counts).first > spec_.spread[i].max_skew) return false;
    }
    return true;
  }

  int64_t SpreadValue(const Texts& all, const std::string& name) {
    int64_t value = 0;
    for (size_t i = 0; i < spec_.spread.size(); ++i) {
      int64_t s = 0;
      if (MaybeText key = Domain(name, i + 1).back()) {
        std::map<std::string, int64_t> counts = Siblings(all, name, i);
        auto [min, max] = Range(counts);
        if (max > min)
          s = static_cast<int64_t>(std::trunc(63.0 * static_cast<double>(max - counts[*key]) /
                                              static_cast<double>(max - min)));
      }
      value = value * 64 + s;
    }
    return value;
  }

  void Pick(size_t wanted) {
    Texts all;  // those that may be picked at all
    for (const std::string& name : result_.feasible) {
      bool keys = true;
      auto domain = Domain(name, spec_.spread.size());
      for (size_t i = 0; i < domain.size(); ++i)
        keys &= domain[i].has_value() || !spec_.spread[i].do_not_schedule;
      if (keys) all.push_back(name);
    }
    int64_t weight = 0;
    for (const Weight& w : Weights()) {
      if (w.name == "Spread") weight = w.weight;
    }
    while (picks().size() < wanted) {
      std::map<std::string, int64_t> values;
      for (const std::string& name : all) {
        if (std::count(picks().begin(), picks().end(), name) == 0 && SpreadAllows(all, name))
          values[name] = SpreadValue(all, name);
      }
      if (values.empty()) break;
      auto [min, max] = Range(values);
      MaybeText best;
      int64_t best_score = 0;
      for (const auto& [name, v] : values) {
        int64_t spread = 0;
        if (max > min)
          spread = static_cast<int64_t>(std::trunc(
              200.0 * static_cast<double>(v - min) / static_cast<double>(max - min) - 100.0));
        int64_t score = weight * spread + result_.totals[name];
        if (!best || score > best_score) {
          best = name;
          best_score = score;
        }
      }
      picks().push_back(*best);
    }
  }

  void Divide() {
    const double selected = static_cast<double>(picks().size());
    double size = 0;
    if (const auto* number = std::get_if<int64_t>(&spec_.clusters_per_group)) {
      size = static_cast<double>(*number);
    } else {
      size =
          std::ceil((std::stod(std::get<std::string>(spec_.clusters_per_group)) / 100) * selected);
    }
    if (size <= 0 || size > selected) size = selected;
    std::set<std::string> left(picks().begin(), picks().end());
    for (size_t g = 0; g <= spec_.groups.size(); ++g) {
      const NamedGroup* group = g < spec_.groups.size() ? &spec_.groups[g] : nullptr;
      std::vector<std::pair<int64_t, std::string>> members;  // sorts by score, then by name
      for (const std::string& name : left) {
        if (group == nullptr || (SelectorMatches(group->selector.labels, Cluster(name).labels) &&
                                 SelectorMatches(group->selector.claims, Cluster(name).claims)))
          members.push_back({spec_.sort_by == SortBy::kScore ? -result_.totals[name] : 0, name});
      }
      std::sort(members.begin(), members.end());
      for (size_t i = 0; i < members.size(); ++i) {
        if (i % static_cast<size_t>(size) == 0)
          result_.groups.push_back({group == nullptr ? "" : group->name, {}});
        result_.groups.back().second.push_back(members[i].second);
        left.erase(members[i].second);
      }
    }
    if (result_.groups.empty()) result_.groups.push_back({"", {}});
  }

  void Requeue() {
    for (const std::string& name : picks()) {
      for (const Taint& taint : Cluster(name).taints) {
        for (const Toleration& toleration : spec_.tolerations) {
          if (!toleration.seconds || !taint.time_added) continue;
          __int128 end = End(toleration, taint);
          if (end <= Nanoseconds(now_) || end > Nanoseconds(WallTime::max())) continue;
          WallTime time{WallTime::duration(static_cast<int64_t>(end))};
          if (!Passes(name, time)) changes_.insert(time);
        }
      }
    }
    if (!changes_.empty()) result_.requeue_at = *changes_.begin();
  }

  const PlacementSpec& spec_;
  const Placement& placement_;
  const DecisionCounts& own_;
  const Fleet& fleet_;
  const WallTime now_;
  CelSelectors& cel_;
  std::set<WallTime> changes_;
  ModelResult result_;
};

}  // namespace

ModelResult RunModel(const Placement& placement, const DecisionCounts& own, const Fleet& fleet,
                     WallTime now, CelSelectors& cel) {
  return Model(placement, own, fleet, now, cel).Run();
}

}  // namespace fleet
