// SPDX-License-Identifier: Apache-2.0
// MakeObject: a builder for objects as JSON, and one for each kind of a hub.
//
//   api.CreateJson(kManagedClusters, MakeManagedCluster("c1").Label("zone", "a"));
//   store.Put(MakePlacement("ns", "p", R"({"numberOfClusters": 2})").As<Placement>());
//
// Fields that are not named are absent.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/testing/object_builder.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace fleet {

// The spec of a ManagedClusterSet.
inline constexpr std::string_view kSelectsAll =
    R"({"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}})";

// A rolloutStrategy.
inline constexpr std::string_view kTwoAtATime =
    R"({"type": "Progressive", "progressive": {"maxConcurrency": 2, "progressDeadline": "10m"}})";

class MakeObject : public kube::ObjectBuilder<MakeObject> {
 public:
  // `ns`: "" for a kind without namespaces. `spec`: JSON; "": none.
  MakeObject(const kube::Resource& resource, const std::string& ns, const std::string& name,
             std::string_view spec = "");

  // Adds a condition of the status.
  MakeObject& Condition(std::string_view type, std::string_view status);

  operator kube::Json() const { return object_; }  // NOLINT: a builder is what it builds
  // As a type of fleet/api.
  template <class T>
  T As() const {
    return T::FromJson(object_).value();
  }
};

MakeObject MakeNamespace(const std::string& name);
// The hub accepts it.
MakeObject MakeManagedCluster(const std::string& name);
MakeObject MakeClusterSet(const std::string& name, std::string_view spec = "{}");
MakeObject MakeSetBinding(const std::string& ns, const std::string& set);
MakeObject MakePlacement(const std::string& ns, const std::string& name,
                         std::string_view spec = "{}");
// With the label of the Placement.
MakeObject MakePlacementDecision(const std::string& ns, const std::string& name,
                                 const std::string& placement,
                                 const std::vector<std::string>& clusters);
// An AddOnPlacementScore of one score.
MakeObject MakeScore(const std::string& cluster, const std::string& name, const std::string& score,
                     int value);
// Of a ClusterPodPlacementConfig. `strategy`: of the rollout, JSON.
MakeObject MakeFleetPodPlacement(const std::string& ns, const std::string& name,
                                 const std::string& placement, std::string_view strategy = "{}");
// Given to the cluster by FleetPodPlacement team/web, with the hash "h1".
MakeObject MakeWork(const std::string& cluster, std::vector<kube::Json> objects = {});

// What a rollout gives to a cluster.
MakeObject MakeClusterConfig(const std::string& verbosity = "Normal");
MakeObject MakeConfig(const std::string& ns, const std::string& name);

}  // namespace fleet
