// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/gating_model.h"

#include <algorithm>
#include <set>
#include <string>

#include "api/known_images.h"
#include "api/names.h"
#include "kube/types/list_at.h"
#include "sim/checker/label_selection.h"

namespace sim::checker {
namespace {

// Conditions of webhooks and policies read no longer list (SECURITY.md).
constexpr size_t kLongestWalked = 32;
constexpr std::string_view kIncludeLabel = "multiarch.openshift.io/include-pod-placement";

bool IsOfDaemonSet(const Json& pod) {
  const Json& owners = kube::ListAt(pod, "metadata.ownerReferences");
  return std::any_of(owners.begin(), owners.end(), [](const Json& owner) {
    return kube::BoolAt(owner, "controller") && kube::StringAt(owner, "kind") == "DaemonSet" &&
           kube::StringAt(owner, "apiVersion").starts_with("apps/");
  });
}

bool IsByDaemonSetController(const std::string& user) {
  return user == "system:serviceaccount:kube-system:daemon-set-controller" ||
         user == "system:kube-controller-manager";
}

// What the pod and the name of its namespace alone say.
bool IsNeverPlaced(const Json& pod, const std::string& ns, const Facts& facts) {
  return ns == facts.operator_namespace || ns.starts_with("kube-") ||
         HasLabel(pod, api::kOperandLabel) || HasLabel(pod, api::kExcludeLabel) ||
         !kube::StringAt(pod, "spec.nodeName").empty() ||
         NodeSelectorValue(pod, api::kControlPlaneNodeLabel) != nullptr ||
         NodeSelectorValue(pod, api::kMasterNodeLabel) != nullptr;
}

bool SelectsNamespace(const ClusterConfig& config, const NamespaceState& state,
                      const std::string& ns, const Facts& facts) {
  if (state.labels.contains(std::string(api::kExcludeLabel))) return false;
  bool excluded = std::any_of(facts.excluded_prefixes.begin(), facts.excluded_prefixes.end(),
                              [&](const std::string& prefix) { return ns.starts_with(prefix); });
  if (excluded && !state.labels.contains(std::string(kIncludeLabel))) return false;
  return Selects(config.namespace_selector, state.labels);
}

bool AnyMayChangePods(const NamespaceConfigs& configs) {
  return std::any_of(configs.begin(), configs.end(), [](const auto& config) {
    return !config->preferences.empty() || config->rules || config->tolerations;
  });
}

// Empty if the commits of the namespace are not known.
std::vector<const NamespaceState*> StatesOf(const std::string& ns, const History& history,
                                            Time from, uint64_t to) {
  const Timeline<NamespaceState>* timeline = history.NamespaceOf(ns);
  if (timeline == nullptr) return {};
  return timeline->During(from, to);
}

bool IsOfExcludedScheduler(const Json& pod, const ClusterConfig& config) {
  const auto& names = config.excluded_schedulers;
  return std::find(names.begin(), names.end(), kube::StringAt(pod, "spec.schedulerName")) !=
         names.end();
}

// README.md: pods are ungated when no controller has run for ten minutes.
bool IsOutage(const Commit& commit, const History& history, const Facts& facts) {
  const Timeline<bool>* available = history.controller_available();
  if (available == nullptr) return false;
  Time length =
      std::chrono::duration_cast<Time>(std::chrono::minutes(10) / facts.timing.fastest_clock);
  auto states = available->During(commit.at - length + facts.timing.watch_lag, commit.version);
  return std::none_of(states.begin(), states.end(), [](const bool* one) { return *one; });
}

// Whether both gate the same pods.
bool GatesAs(const ClusterConfig& one, const ClusterConfig& other) {
  return one.exists == other.exists && one.deleting == other.deleting &&
         one.namespace_selector == other.namespace_selector &&
         one.excluded_schedulers == other.excluded_schedulers &&
         one.preferences.empty() == other.preferences.empty() && one.places == other.places;
}

void Merge(Placement& placed, bool& first, bool yes) {
  Placement one = yes ? Placement::kYes : Placement::kNo;
  if (first) placed = one;
  if (placed != one) placed = Placement::kEither;
  first = false;
}

}  // namespace

bool RequiresArchitectureItself(const Json& pod) {
  if (NodeSelectorValue(pod, api::kArchLabel) != nullptr) return true;
  const Json& terms = RequiredTermsOf(pod);
  return !terms.empty() && std::all_of(terms.begin(), terms.end(), [](const Json& term) {
    return HasExpressionOn(term, api::kArchLabel);
  });
}

bool PrefersArchitecture(const Json& pod) {
  const Json& terms = PreferredTermsOf(pod);
  return std::any_of(terms.begin(), terms.end(), [](const Json& term) {
    return HasExpressionOn(kube::ObjectAt(term, "preference"), api::kArchLabel);
  });
}

Placement IsPlaced(const PodChange& change, const PodLife& life, const History& history,
                   const Facts& facts) {
  const Json& pod = change.before;
  const std::string& ns = change.commit.key.ns;
  if (IsNeverPlaced(pod, ns, facts)) return Placement::kNo;
  // A shard knows neither the schedulers nor the labels of its namespace.
  if (change.writer.Is(Program::kShard))
    return IsOfDaemonSet(pod) ? Placement::kEither : Placement::kYes;

  // The labels of gates that admission sets. Authors may write them, too.
  bool by_admission =
      LabelOf(pod, api::kClusterGateLabel) == api::kGated ||
      (!HasGate(pod, api::kClusterGate) && LabelOf(pod, api::kLocalGateLabel) == api::kGated);
  Placement placed = Placement::kYes;
  bool first = true;
  Time from = life.created - facts.timing.watch_lag;
  uint64_t to = change.commit.version;
  for (const auto* config : history.cluster_config().During(from, to)) {
    if (IsOfExcludedScheduler(pod, **config)) {
      Merge(placed, first, false);
    } else if (by_admission) {
      Merge(placed, first, true);
    } else {
      std::vector<const NamespaceState*> states = StatesOf(ns, history, from, to);
      if (states.empty()) return Placement::kEither;
      for (const NamespaceState* state : states)
        Merge(placed, first, SelectsNamespace(**config, *state, ns, facts));
    }
  }
  if (IsOfDaemonSet(pod) && placed == Placement::kYes) return Placement::kEither;
  return placed;
}

void CheckGatesAdded(const Commit& commit, const History& history, const Facts& facts,
                     Violations& violations) {
  if (!IsOf(commit, "", "pods") || commit.before || !commit.after || !commit.sent) return;
  const Json& pod = *commit.after;
  const std::string& ns = commit.key.ns;
  auto added = [&](std::string_view gate) {
    return HasGate(pod, gate) && !HasGate(*commit.sent, gate);
  };
  bool cluster = added(api::kClusterGate), local = added(api::kLocalGate);
  if (!cluster && !local) return;
  auto report = [&](const std::string& text) {
    violations.push_back(At(commit, "gating", "admission gated " + text));
  };

  if (IsNeverPlaced(pod, ns, facts)) report("a pod that is never placed");
  const size_t owners = kube::ListAt(pod, "metadata.ownerReferences").size();
  if (IsOfDaemonSet(pod) && IsByDaemonSetController(commit.user) && owners <= kLongestWalked)
    report("a pod of a DaemonSet");

  // What gates is written by the operator, whose watch may lag behind.
  Time from = commit.at - facts.timing.admission_lag - facts.timing.watch_lag;
  auto cluster_configs = history.cluster_config().During(from, commit.version);
  auto states = StatesOf(ns, history, from, commit.version);
  static const NamespaceConfigs kNone;
  std::vector<const NamespaceConfigs*> namespace_configs = {&kNone};
  const Time kept_from = commit.at - facts.timing.preferences_kept;
  bool any_preference =
      std::any_of(cluster_configs.begin(), cluster_configs.end(),
                  [](const auto* config) { return !(*config)->preferences.empty(); });
  if (const auto* timeline = history.ConfigsOf(ns)) {
    namespace_configs = timeline->During(from, commit.version);
    for (const NamespaceConfigs* configs : timeline->During(kept_from, commit.version))
      any_preference |= AnyMayChangePods(*configs);
  }
  if (const auto* timeline = history.PreferenceAnnouncedIn(ns)) {
    for (const bool* announced : timeline->During(kept_from, commit.version))
      any_preference |= *announced;
  }
  // A policy reads a configuration as it is, and from its status, which is written later, that its
  // preferences are by policy: it may have none any more.
  std::set<std::string> preferring;
  for (const NamespaceConfigs* configs : namespace_configs) {
    for (const auto& config : *configs)
      if (!config->preferences.empty() || config->rules) preferring.insert(config->name);
  }
  bool selects_pod = false;
  for (const NamespaceConfigs* configs : namespace_configs) {
    for (const auto& config : *configs) {
      if (!preferring.contains(config->name)) continue;
      selects_pod |= Selects(config->selector, LabelsOf(pod)) ||
                     Selects(config->selector, LabelsOf(*commit.sent));
    }
  }
  bool in_force = false;
  for (const auto* config : cluster_configs) {
    if (!(*config)->exists || IsOfExcludedScheduler(pod, **config)) continue;
    in_force |= states.empty() ||
                std::any_of(states.begin(), states.end(), [&](const NamespaceState* state) {
                  return SelectsNamespace(**config, *state, ns, facts);
                });
  }
  if (!in_force)
    report("a pod that the ClusterPodPlacementConfig does not select");
  else if (local && !selects_pod)
    report("a pod locally that no PodPlacementConfig selects");

  // What admission has required of a pod that it placed is not its author's.
  const Json& own = HasLabel(pod, api::kPlacedAtCreationLabel) ? *commit.sent : pod;
  const bool requires_it =
      RequiresArchitectureItself(own) && RequiredTermsOf(pod).size() <= kLongestWalked;
  if (requires_it && !any_preference)
    report("a pod that requires its architecture, and no configuration has preferences");
  if (requires_it && PrefersArchitecture(*commit.sent) &&
      PreferredTermsOf(pod).size() <= kLongestWalked)
    report("a pod that requires and prefers its architecture");
}

void CheckGatesMissing(const Commit& commit, const History& history, const Facts& facts,
                       Violations& violations) {
  if (!IsOf(commit, "", "pods") || commit.before || !commit.after || !commit.sent) return;
  const Json& pod = *commit.after;
  const std::string& ns = commit.key.ns;
  // Everything runs for the time of a rollout, or it did before operands were replaced by others:
  // gating is switched without a gap (docs/protocol.md, S1 to S8).
  Time from = commit.at - facts.timing.rollout;
  if (facts.calm_since > from) from -= facts.timing.rollout;
  if (facts.calm_since > from && facts.undisturbed_since > from) return;
  if (IsNeverPlaced(pod, ns, facts)) return;
  if (IsOfDaemonSet(pod) && IsByDaemonSetController(commit.user)) return;

  // Nothing may have changed that decides about gates; how pods are gated may.
  auto cluster_configs = history.cluster_config().During(from, commit.version);
  auto states = StatesOf(ns, history, from, commit.version);
  const ClusterConfig& cluster = *cluster_configs[0]->get();
  if (states.size() != 1 || !std::all_of(cluster_configs.begin(), cluster_configs.end(),
                                         [&](const auto* one) { return GatesAs(**one, cluster); }))
    return;
  const NamespaceState& state = *states[0];
  if (!cluster.exists || cluster.deleting || !state.exists || state.deleting ||
      !SelectsNamespace(cluster, state, ns, facts) || IsOfExcludedScheduler(pod, cluster))
    return;
  NamespaceConfigs configs;
  if (const auto* timeline = history.ConfigsOf(ns)) {
    auto all = timeline->During(from, commit.version);
    // Whether there are preferences decides about pods that require their architecture alone.
    if (all.size() != 1 && (RequiresArchitectureItself(pod) || cluster.places)) return;
    if (all.size() == 1) configs = *all[0];
  }
  if (cluster.places && !AnyMayChangePods(configs) && HasLabel(pod, api::kPlacedAtCreationLabel))
    return;

  const InForce in_force = InForceOf(std::move(configs));
  bool any_preference = !cluster.preferences.empty();
  bool local = false;
  for (const auto& config : in_force.configs) {
    any_preference |= !config->preferences.empty() || config->rules;
    local |= !config->preferences.empty() && Selects(config->selector, LabelsOf(*commit.sent)) &&
             Selects(config->selector, LabelsOf(pod)) && !config->deleting;
  }
  if (in_force.unclear) return;
  if (RequiresArchitectureItself(pod) && (!any_preference || PrefersArchitecture(pod))) return;
  const bool tolerates = cluster.tolerations && cluster.tolerations->enabled;
  const bool placed_behind_local = cluster.places && !tolerates && HasGate(pod, api::kLocalGate) &&
                                   HasLabel(pod, api::kPlacedAtCreationLabel);
  for (std::string_view gate : {api::kClusterGate, api::kLocalGate}) {
    if (HasGate(pod, gate) || (gate == api::kLocalGate && !local)) continue;
    if (gate == api::kClusterGate && placed_behind_local) continue;
    violations.push_back(
        At(commit, "gating", "admission did not add the gate " + std::string(gate)));
  }
}

std::vector<const ClusterConfig*> PlacingConfigs(const Commit& commit, const History& history,
                                                 const Facts& facts) {
  std::vector<const ClusterConfig*> placing;
  const Json& pod = *commit.after;
  const std::string& ns = commit.key.ns;
  if (IsNeverPlaced(pod, ns, facts)) return placing;
  const Time from = commit.at - facts.timing.admission_lag - facts.timing.watch_lag;
  const auto states = StatesOf(ns, history, from, commit.version);
  for (const auto* config : history.cluster_config().During(from, commit.version)) {
    bool selects = states.empty() ||
                   std::any_of(states.begin(), states.end(), [&](const NamespaceState* state) {
                     return SelectsNamespace(**config, *state, ns, facts);
                   });
    if ((*config)->exists && !(*config)->deleting && (*config)->places && selects &&
        !IsOfExcludedScheduler(pod, **config))
      placing.push_back(config->get());
  }
  return placing;
}

void CheckTeardownIsDue(const PodChange& change, const History& history, const Facts& facts,
                        Violations& violations) {
  if (!change.writer.Is(Program::kOperator) || !change.RemovesGate()) return;
  Time from = change.commit.at - facts.timing.watch_lag;
  uint64_t to = change.commit.version;
  auto any = [&](const auto& values, const auto& which) {
    return std::any_of(values.begin(), values.end(), which);
  };
  auto is_deleting = [](const NamespaceState* state) { return state->deleting || !state->exists; };
  bool due = any(history.cluster_config().During(from, to),
                 [](const auto* config) { return !(*config)->exists || (*config)->deleting; });
  // Of a namespace whose commits are not known, nothing is said.
  if (const auto* own = history.NamespaceOf(facts.operator_namespace))
    due = due || any(own->During(from, to), is_deleting);
  if (!due && !change.Removes(api::kClusterGate)) {
    // The shard of the namespace has no work any more, or may not work there.
    const std::string& ns = change.commit.key.ns;
    const auto* configs = history.ConfigsOf(ns);
    due = configs == nullptr || any(configs->During(from, to), [](const NamespaceConfigs* all) {
            return std::all_of(all->begin(), all->end(),
                               [](const auto& config) { return config->deleting; });
          });
    const auto* states = history.NamespaceOf(ns);
    due = due || states == nullptr || any(states->During(from, to), is_deleting);
    for (const auto* config : history.cluster_config().During(from, to)) {
      for (const NamespaceState* state : StatesOf(ns, history, from, to))
        due = due || !SelectsNamespace(**config, *state, ns, facts);
    }
  }
  due = due || IsOutage(change.commit, history, facts);
  if (!due)
    violations.push_back(At(change.commit, "teardown",
                            "the operator removed a gate, and nothing "
                            "that gates the pod is being removed"));
}

}  // namespace sim::checker
