// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/status_rules.h"

#include <algorithm>

#include "api/names.h"
#include "kube/types/list_at.h"

namespace sim::checker {

void StatusRules::Add(const Commit& commit) {
  if (!IsOf(commit, api::kGroup, "podplacementconfigs")) return;
  if (!commit.after) {
    statuses_.erase(commit.key);
    return;
  }
  Status& status = statuses_[commit.key];
  int64_t generation = kube::IntAt(*commit.after, "metadata.generation");
  if (generation != status.generation) status.changed = commit.at;
  status.generation = generation;
  status.observed = kube::IntAt(*commit.after, "status.observedGeneration");
  status.unavailable.clear();
  for (const Json& condition : kube::ListAt(*commit.after, "status.conditions")) {
    if (kube::StringAt(condition, "type") == "Available" &&
        kube::StringAt(condition, "status") == "False")
      status.unavailable = kube::StringAt(condition, "reason");
  }
}

void StatusRules::Finish(const EndOfRun& end, const History& history,
                         Violations& violations) const {
  const auto* own = history.NamespaceOf(facts_.operator_namespace);
  if (own != nullptr && (own->Latest().deleting || !own->Latest().exists)) return;
  const Time settled = end.at - facts_.timing.rollout;
  if (end.faults_ended > settled) return;
  auto report = [&](const kube::ObjectKey& key, const std::string& text) {
    violations.push_back({"status", "podplacementconfigs " + key.ToString(), text, 0, end.at});
  };
  for (const auto& [key, status] : statuses_) {
    if (status.changed <= settled && status.observed != status.generation) {
      report(key, "its status is about generation " + std::to_string(status.observed) +
                      ", and its generation is " + std::to_string(status.generation));
    }
  }
  for (const auto& [ns, timeline] : history.configs()) {
    if (timeline.changes().back().at > settled) continue;
    InForce in_force = InForceOf(timeline.Latest());
    if (in_force.unclear) continue;
    for (const auto& config : timeline.Latest()) {
      bool applied = std::find(in_force.configs.begin(), in_force.configs.end(), config) !=
                     in_force.configs.end();
      auto status = statuses_.find({ns, config->name});
      if (status == statuses_.end()) continue;
      const std::string& reason = status->second.unavailable;
      if (!applied && reason.empty())
        report({ns, config->name}, "an older configuration has its priority, and it is Available");
      if (applied && reason == "PriorityConflict")
        report({ns, config->name}, "it reports a PriorityConflict that does not exist");
    }
  }
}

}  // namespace sim::checker
