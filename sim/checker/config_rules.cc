// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/config_rules.h"

#include <algorithm>

#include "api/names.h"
#include "kube/types/list_at.h"

namespace sim::checker {
namespace {

// The API server waits at most this long for the webhook (docs/reference.md, Limits); the write of
// the announcement is a part of it.
constexpr Time kWebhookTimeout = std::chrono::seconds(10);

}  // namespace

void ConfigRules::Check(const Commit& commit, const Writer& writer, const History& history,
                        Violations& violations) {
  if (IsOf(commit, "admissionregistration.k8s.io", "validatingwebhookconfigurations") &&
      commit.key.name == "multiarch-tuning-operator-validating-webhook-configuration")
    configured_.Set(commit, commit.after != nullptr);
  if (commit.group == api::kGroup && commit.plural == "clusterpodplacementconfigs")
    CheckClusterConfig(commit, history, violations);
  // The webhook is not called for the operator, nor for a status.
  if (commit.group != api::kGroup || !commit.subresource.empty() || writer.Is(Program::kOperator))
    return;
  for (const bool* configured :
       configured_.During(commit.at - facts_.timing.admission_lag, commit.version)) {
    if (!*configured) return;
  }
  if (commit.plural == "podplacementconfigs" && commit.after && IsEffective(commit)) {
    CheckConfig(commit, history, violations);
    CheckAnnounced(commit, history, violations);
  }
}

void ConfigRules::CheckConfig(const Commit& commit, const History& history,
                              Violations& violations) const {
  const Time from = commit.at - facts_.timing.admission_lag;
  const NamespaceConfig config = NamespaceConfig::Read(*commit.after);
  if (!commit.before) {
    auto cluster = history.cluster_config().During(from, commit.version);
    if (std::none_of(cluster.begin(), cluster.end(),
                     [](const auto* one) { return (*one)->exists; }))
      violations.push_back(At(commit, "validation", "there is no ClusterPodPlacementConfig"));
  } else if (NamespaceConfig::Read(*commit.before).priority == config.priority) {
    return;
  }
  const auto* timeline = history.ConfigsOf(commit.key.ns);
  if (timeline == nullptr) return;
  auto snapshots = timeline->During(from, commit.version);
  auto has_rival = [&](const NamespaceConfigs* configs) {
    return std::any_of(configs->begin(), configs->end(), [&](const auto& other) {
      return other->name != config.name && other->priority == config.priority;
    });
  };
  if (std::all_of(snapshots.begin(), snapshots.end(), has_rival)) {
    violations.push_back(At(commit, "validation",
                            "another configuration of the namespace has the priority " +
                                std::to_string(config.priority)));
  }
}

void ConfigRules::CheckAnnounced(const Commit& commit, const History& history,
                                 Violations& violations) const {
  if (facts_.announcement_faults.Overlap(commit.at - kWebhookTimeout, commit.at)) return;
  const Json* before = commit.before ? kube::Find(*commit.before, "spec") : nullptr;
  const Json* after = kube::Find(*commit.after, "spec");
  if (before != nullptr && after != nullptr && *before == *after) return;  // its deletion begins
  // Its Lease may be gone already, and none can be created. It has no new pods.
  const auto* its_namespace = history.NamespaceOf(commit.key.ns);
  if (its_namespace != nullptr && its_namespace->Latest().deleting) return;
  std::optional<Time> announced =
      history.AnnouncedAt(commit.key.ns, kube::StringAt(*commit.after, "metadata.uid"),
                          kube::IntAt(*commit.after, "metadata.generation", 1));
  Time ahead =
      std::chrono::duration_cast<Time>(facts_.timing.announced_ahead / facts_.timing.fastest_clock);
  if (!announced) {
    violations.push_back(At(commit, "announcements", "it was not announced"));
  } else if (commit.at - *announced < ahead) {
    violations.push_back(At(commit, "announcements",
                            "it was stored too soon after it was "
                            "announced"));
  }
}

// It is only gone after the last PodPlacementConfig, whoever removes its last finalizer, unless the
// operator's namespace is deleted with all its programs.
void ConfigRules::CheckClusterConfig(const Commit& commit, const History& history,
                                     Violations& violations) const {
  const auto* own = history.NamespaceOf(facts_.operator_namespace);
  if (commit.after || (own != nullptr && (own->Latest().deleting || !own->Latest().exists))) return;
  const Time from = commit.at - facts_.timing.admission_lag;
  for (const auto& [ns, timeline] : history.configs()) {
    auto snapshots = timeline.During(from, commit.version);
    if (std::all_of(snapshots.begin(), snapshots.end(),
                    [](const NamespaceConfigs* configs) { return !configs->empty(); })) {
      violations.push_back(At(commit, "validation",
                              "is gone, and the namespace " + ns + " has PodPlacementConfigs"));
    }
  }
}

}  // namespace sim::checker
