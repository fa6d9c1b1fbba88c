// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/cluster_cel.h"

#include <string_view>
#include <utility>

#include "fleet/api/budgets.h"
#include "fleet/api/managed_cluster.h"
#include "fleet/api/placement.h"

namespace fleet {

using kube::Json;
using kube::Unstructured;

namespace {

// Managed fields are half of a small object, and say nothing about the cluster.
void Trim(Unstructured& object) {
  Json body = object.ToJson();
  auto metadata = body.find("metadata");
  if (metadata != body.end() && metadata->is_object()) metadata->erase("managedFields");
  object = Unstructured(std::move(body));
}

// What is kept of an object that exceeds the limits.
std::string Stub(std::string_view packed) {
  kube::Result<Json> object = kube::UnpackJson(packed);
  Json stub;
  stub["metadata"]["name"] = object ? kube::StringAt(*object, "metadata.name") : "";
  return kube::PackJson(stub);
}

kube::InformerOptions<Unstructured> Options() {
  kube::InformerOptions<Unstructured> options;
  options.trim = Trim;
  options.budget = {.object = kMaxCelClusterBytes,
                    .one_namespace = kMaxCelClustersBytes,
                    .total = kMaxCelClustersBytes};
  options.stub = Stub;
  options.max_objects = kClusterBudget.objects;
  options.resource = kManagedClusters;
  return options;
}

}  // namespace

ClusterCel::ClusterCel(kube::Client& client, kube::Clock& clock, cel::Evaluator& evaluator,
                       FleetStore& store, kube::TaskGroup& tasks, size_t max_answered)
    : store_(store),
      tasks_(tasks),
      selectors_(evaluator, *this, clock, max_answered),
      clusters_(client, clock, Options()) {
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
  return clusters_.synced();
}

CelSelectors& ClusterCel::Begin(const std::string& ns) {
  if (retained_ != store_.cel_changes()) {
    retained_ = store_.cel_changes();
    std::vector<cel::UsedSelector> used;
    store_.ForEachPlacement([&](const Placement& placement) {
      for (const ClusterSelector& predicate : placement.spec.predicates) {
        if (!predicate.cel.empty()) used.push_back({placement.ns, predicate.cel});
      }
    });
    selectors_.Retain(used);
  }
  selectors_.Begin(ns);
  return selectors_;
}

std::optional<std::string> ClusterCel::Json(const std::string& cluster) {
  std::optional<Unstructured> object = clusters_.Get({"", cluster});
  if (!object) return std::nullopt;
  return kube::DumpJson(object->body());
}

std::string ClusterCel::Refusal(const std::string& cluster) {
  if (clusters_.Complete({"", cluster})) return "";
  return "the ManagedCluster has more than " + std::to_string(kMaxCelClusterBytes) +
         " bytes, or all have more than " + std::to_string(kMaxCelClustersBytes);
}

cel::ScoreTable ClusterCel::Scores(const std::string& cluster) {
  cel::ScoreTable table;
  auto of_cluster = store_.fleet().scores.find(cluster);
  if (of_cluster == store_.fleet().scores.end()) return table;
  for (const auto& [name, object] : of_cluster->second) {
    std::vector<cel::Score>& scores = table[name];
    for (const auto& [score, value] : object.scores) scores.push_back({score, value});
  }
  return table;
}

}  // namespace fleet
