// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/finalizer_rules.h"

#include <algorithm>

#include "api/names.h"
#include "kube/types/list_at.h"

namespace sim::checker {

void FinalizerRules::Add(const Commit& commit) {
  if (!IsOf(commit, api::kGroup, "clusterpodplacementconfigs") ||
      commit.key.name != api::kClusterConfigName)
    return;
  const bool was_deleted = deleted_ != nullptr;
  deleted_ = nullptr;
  if (!commit.after || kube::StringAt(*commit.after, "metadata.deletionTimestamp").empty()) return;
  deleted_ = commit.after;
  if (!was_deleted) since_ = commit.at;
}

void FinalizerRules::Finish(const EndOfRun& end, const History& history,
                            Violations& violations) const {
  if (deleted_ == nullptr) return;
  // Nobody is there who removes them.
  const auto* own = history.NamespaceOf(facts_.operator_namespace);
  if (own != nullptr && (own->Latest().deleting || !own->Latest().exists)) return;
  Time due = std::max(since_, end.faults_ended);
  for (const auto& [ns, configs] : history.configs()) {
    if (!configs.Latest().empty()) return;
    due = std::max(due, configs.changes().back().at);
  }
  if (end.at - due < facts_.timing.removal) return;
  for (const Json& finalizer : kube::ListAt(*deleted_, "metadata.finalizers")) {
    if (finalizer != api::kPodPlacementFinalizer &&
        finalizer != api::kNoPodPlacementConfigFinalizer &&
        finalizer != api::kENoExecEventsFinalizer)
      continue;
    violations.push_back(
        {"I7", "clusterpodplacementconfigs " + std::string(api::kClusterConfigName),
         "is still being deleted, and has the finalizer " + finalizer.get<std::string>(), 0,
         end.at});
  }
}

}  // namespace sim::checker
