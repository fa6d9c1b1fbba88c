// SPDX-License-Identifier: Apache-2.0
#include "fleet/testing/make_object.h"

#include <utility>

#include "api/cluster_pod_placement_config.h"
#include "api/pod_placement_config.h"
#include "fleet/api/add_on_placement_score.h"
#include "fleet/api/fleet_pod_placement.h"
#include "fleet/api/managed_cluster.h"
#include "fleet/api/managed_cluster_set.h"
#include "fleet/api/names.h"
#include "fleet/api/placement.h"
#include "fleet/api/placement_decision.h"
#include "fleet/api/pod_placement_work.h"
#include "kube/types/kinds.h"

namespace fleet {

using kube::Json;

MakeObject::MakeObject(const kube::Resource& resource, const std::string& ns,
                       const std::string& name, std::string_view spec)
    : ObjectBuilder(resource.ApiVersion(), resource.kind, name) {
  if (!ns.empty()) object_["metadata"]["namespace"] = ns;
  if (!spec.empty()) object_["spec"] = kube::MustParseJson(spec);
}

MakeObject& MakeObject::Condition(std::string_view type, std::string_view status) {
  Json condition = {{"type", std::string(type)}, {"status", std::string(status)}};
  object_["status"]["conditions"].push_back(std::move(condition));
  return *this;
}

MakeObject MakeNamespace(const std::string& name) { return {kube::kNamespaces, "", name}; }

MakeObject MakeManagedCluster(const std::string& name) {
  return {kManagedClusters, "", name, R"({"hubAcceptsClient": true})"};
}

MakeObject MakeClusterSet(const std::string& name, std::string_view spec) {
  return {kManagedClusterSets, "", name, spec};
}

MakeObject MakeSetBinding(const std::string& ns, const std::string& set) {
  return MakeObject(kManagedClusterSetBindings, ns, set).Set("/spec/clusterSet", set);
}

MakeObject MakePlacement(const std::string& ns, const std::string& name, std::string_view spec) {
  return MakeObject(kPlacements, ns, name, spec).Set("/metadata/generation", 1);
}

MakeObject MakePlacementDecision(const std::string& ns, const std::string& name,
                                 const std::string& placement,
                                 const std::vector<std::string>& clusters) {
  std::vector<Decision> decisions;
  for (const std::string& cluster : clusters) decisions.push_back({.cluster = cluster});
  return MakeObject(kPlacementDecisions, ns, name)
      .Label(kPlacementLabel, placement)
      .Set("/status/decisions", DecisionsToJson(decisions));
}

MakeObject MakeScore(const std::string& cluster, const std::string& name, const std::string& score,
                     int value) {
  Json scores = Json::array({{{"name", score}, {"value", value}}});
  return MakeObject(kAddOnPlacementScores, cluster, name).Set("/status/scores", std::move(scores));
}

MakeObject MakeFleetPodPlacement(const std::string& ns, const std::string& name,
                                 const std::string& placement, std::string_view strategy) {
  Json reference = {{"name", placement}, {"rolloutStrategy", kube::MustParseJson(strategy)}};
  constexpr char kSpec[] = R"({"clusterPodPlacementConfig": {"spec": {"logVerbosity": "Normal"}}})";
  return MakeObject(kFleetPodPlacements, ns, name, kSpec)
      .Set("/metadata/generation", 1)
      .Set("/spec/placements", Json::array({std::move(reference)}));
}

MakeObject MakeWork(const std::string& cluster, std::vector<Json> objects) {
  constexpr char kSpec[] =
      R"({"hash": "h1", "givenAt": "2026-01-01T00:00:00Z", "deletionPolicy": "Delete"})";
  return MakeObject(kPodPlacementWorks, cluster, WorkName("team", "web"), kSpec)
      .Label(kWorkNamespaceLabel, "team")
      .Label(kWorkNameLabel, "web")
      .Set("/spec/objects", std::move(objects));
}

MakeObject MakeClusterConfig(const std::string& verbosity) {
  return MakeObject(kube::ResourceOf<api::ClusterPodPlacementConfig>::value, "", "cluster")
      .Set("/spec/logVerbosity", verbosity);
}

MakeObject MakeConfig(const std::string& ns, const std::string& name) {
  return MakeObject(kube::ResourceOf<api::PodPlacementConfig>::value, ns, name)
      .Set("/spec/priority", 1);
}

}  // namespace fleet
