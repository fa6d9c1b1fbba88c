// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/end_checks.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "api/names.h"
#include "sim/checker/pod_fields.h"

namespace sim::checker {
namespace {

// docs/reference.md, Limits: how long a pod keeps the cluster gate because of other gates.
constexpr Time kLongestAwaiting = std::chrono::hours(7 * 24);
// README.md: pods of a shard that only appears to work wait three times shardTakeoverAfter.
constexpr int kTakeovers = 3;

std::string Seconds(Time time) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.0f s", std::chrono::duration<double>(time).count());
  return text;
}

bool IsRefused(const kube::ObjectKey& pod, Time from, Time to, const Facts& facts) {
  std::string prefix = "system:serviceaccount:";
  for (const std::string& user :
       {prefix + facts.operator_namespace + ":" + std::string(api::kControllerName),
        prefix + pod.ns + ":" + std::string(api::kShardControllerName),
        prefix + facts.operator_namespace + ":multiarch-tuning-operator"}) {
    if (facts.refusals.Between(user, pod, from, to)) return true;
  }
  return false;
}

// The namespace whose shard has this object: its own, or the end of its name. "" for an object of
// the cluster.
std::string ShardOf(const kube::ObjectKey& key, const Facts& facts) {
  if (!key.ns.empty() && key.ns != facts.operator_namespace) return key.ns;
  // The Secret with the namespace's authority is in the operator's namespace.
  const std::string prefix = key.ns.empty() ? "pod-placement-shard-" : "pod-placement-shard-ca-";
  return key.name.starts_with(prefix) ? key.name.substr(prefix.size()) : "";
}

// Since when `timeline` has its latest value.
template <typename T>
Time Since(const Timeline<T>& timeline) {
  return timeline.changes().back().at;
}

}  // namespace

void CheckNoPodWaits(const EndOfRun& end, const History& history, const Facts& facts,
                     Violations& violations) {
  const auto& timeline = history.cluster_config();
  const ClusterConfig& cluster = *timeline.Latest();
  Time bound =
      kTakeovers * cluster.takeover_after + cluster.retry_period + facts.timing.release_slack;
  for (const auto& [key, life] : history.pods()) {
    const Json& pod = *life.pod;
    if (!IsGated(pod) || !kube::StringAt(pod, "metadata.deletionTimestamp").empty()) continue;
    Time since = std::max(life.gated_since, end.faults_ended);
    if (!OtherGates(pod).empty()) {
      bool awaits = cluster.exists && !cluster.deleting && !HasGate(pod, api::kLocalGate);
      if (awaits && end.at - life.created < kLongestAwaiting + bound) continue;
      since = std::max(life.created, end.faults_ended);
    }
    Time waited = end.at - std::max(since, Since(timeline));
    if (waited < bound || IsRefused(key, end.at - bound, end.at, facts)) continue;
    bool by_admission = LabelOf(pod, api::kClusterGateLabel) == api::kGated ||
                        LabelOf(pod, api::kLocalGateLabel) == api::kGated;
    const auto* own = history.NamespaceOf(facts.operator_namespace);
    const bool has_controller = cluster.exists && (own == nullptr || own->Latest().exists);
    if (!has_controller && !by_admission) continue;
    if (own != nullptr && !own->Latest().exists && life.created >= history.operator_ended())
      continue;
    violations.push_back({"I3", "pods " + key.ToString(),
                          "is still gated, " + Seconds(waited) + " after all faults, at most " +
                              Seconds(bound) + " are allowed",
                          0, end.at});
  }
}

void Leftovers::Add(const Commit& commit, const Writer& writer) {
  Id id{commit.group, commit.plural, commit.key};
  if (!commit.after) {
    objects_.erase(id);
  } else if (!commit.before && writer.IsOurs() && !IsOf(commit, "", "events")) {
    objects_[id] = commit.at;
  }
}

std::string Leftovers::MustBeGone(const Id& id, const EndOfRun& end, const History& history) const {
  const auto& [group, plural, key] = id;
  // Everything must have had the time since the last change, and since the last fault.
  auto long_ago = [&](Time at) {
    return std::max(at, end.faults_ended) <= end.at - facts_.timing.removal;
  };
  const auto* own = history.NamespaceOf(facts_.operator_namespace);
  if (own != nullptr && !own->Latest().exists && long_ago(Since(*own)))
    return "the operator's namespace is deleted";

  const auto& cluster = history.cluster_config();
  // The Leases of both leader elections stay (e2e/flows/removal_orders.cc).
  bool is_operators = key.name.starts_with("multiarch-tuning-operator") ||
                      (plural == "leases" && key.name == api::kControllerName);
  if (!cluster.Latest()->exists && long_ago(Since(cluster)) && !is_operators)
    return "there is no ClusterPodPlacementConfig";

  std::string ns = ShardOf(key, facts_);
  if (ns.empty()) return "";
  const auto* configs = history.ConfigsOf(ns);
  if (configs == nullptr) return "its namespace never had a PodPlacementConfig";
  if (configs->Latest().empty() && long_ago(Since(*configs)))
    return "its namespace has no PodPlacementConfig";
  return "";
}

void Leftovers::Finish(const EndOfRun& end, const History& history, Violations& violations) const {
  for (const auto& [id, created] : objects_) {
    const auto& [group, plural, key] = id;
    auto report = [&, &plural = plural, &key = key](const std::string& why) {
      violations.push_back(
          {"I7", plural + " " + key.ToString(), "is left, although " + why, 0, end.at});
    };
    std::string why = MustBeGone(id, end, history);
    if (!why.empty()) report(why);
    const auto* ns = history.NamespaceOf(key.ns);
    if (ns != nullptr && ns->Latest().deleting &&
        std::max(Since(*ns), end.faults_ended) <= end.at - facts_.timing.removal)
      report("its namespace is being deleted");
  }
}

}  // namespace sim::checker
