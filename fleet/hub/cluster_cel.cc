// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/cluster_cel.h"

#include <utility>

#include "fleet/api/managed_cluster.h"
#include "fleet/api/placement.h"

namespace fleet {

using kube::Json;
using kube::Result;
using kube::Unstructured;

namespace {

// Managed fields are half of a small object, and say nothing about the cluster.
void Trim(Unstructured& object) {
  Json body = object.ToJson();
  auto metadata = body.find("metadata");
  if (metadata != body.end() && metadata->is_object()) metadata->erase("managedFields");
  object = Unstructured(std::move(body));
}

}  // namespace

ClusterCel::ClusterCel(kube::Client& client, kube::Clock& clock, cel::Evaluator& evaluator,
                       FleetStore& store, kube::TaskGroup& tasks)
    : store_(store),
      tasks_(tasks),
      selectors_(evaluator, *this),
      clusters_(client, clock, {.trim = Trim, .resource = kManagedClusters}) {
  clusters_.OnChange([this](kube::EventType, const kube::ObjectKey& cluster) {
    selectors_.ClusterChanged(cluster.name);
    store_.TouchCluster(cluster.name);
  });
  store_.OnScores([this](const std::string& cluster, const std::string& name) {
    selectors_.ScoresChanged(cluster, name);
  });
}

bool ClusterCel::Prepare() {
  if (!std::exchange(started_, true)) tasks_.Spawn("watch-managedclusters-cel", clusters_.Run());
  if (!clusters_.synced()) return false;
  if (retained_ == store_.cel_changes()) return true;
  retained_ = store_.cel_changes();
  std::vector<cel::Selector> used;
  store_.ForEachPlacement([&](const Placement& placement) {
    for (const ClusterSelector& predicate : placement.spec.predicates) {
      if (!predicate.cel.empty()) used.push_back(predicate.cel);
    }
  });
  selectors_.Retain(used);
  return true;
}

std::optional<std::string> ClusterCel::Json(const std::string& cluster) {
  std::optional<Unstructured> object = clusters_.Get({"", cluster});
  if (!object) return std::nullopt;
  return object->body().dump(-1, ' ', false, kube::Json::error_handler_t::replace);
}

Result<std::vector<cel::Score>> ClusterCel::Scores(const std::string& cluster,
                                                   std::string_view name) {
  auto of_cluster = store_.fleet().scores.find(cluster);
  if (of_cluster != store_.fleet().scores.end()) {
    auto object = of_cluster->second.find(std::string(name));
    if (object != of_cluster->second.end()) {
      std::vector<cel::Score> scores;
      for (const auto& [score, value] : object->second.scores) scores.push_back({score, value});
      return scores;
    }
  }
  return kube::Error::NotFound("there is no AddOnPlacementScore " + std::string(name));
}

}  // namespace fleet
