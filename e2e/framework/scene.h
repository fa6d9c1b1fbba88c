// SPDX-License-Identifier: Apache-2.0
// Scene: the namespace of one flow, watched from before its first pod.
#pragma once

#include <memory>
#include <string>

#include "e2e/framework/cluster.h"
#include "e2e/framework/pod_history.h"
#include "kube/base/task_group.h"

namespace e2e {

// The ClusterPodPlacementConfig of the flows selects the namespaces with this label.
inline constexpr const char* kSceneLabel = "pod-placement-e2e";

class Scene {
 public:
  // Creates the namespace NAME-XXXXX with kSceneLabel and `labels`, and waits until pods can be
  // created in it.
  static kube::Result<std::unique_ptr<Scene>> Make(Cluster& cluster, const std::string& name,
                                                   Json labels);
  // The same in a namespace with the name `ns`.
  static kube::Result<std::unique_ptr<Scene>> Open(Cluster& cluster, const std::string& ns);
  // Deletes the namespace, unless KeepNamespace() was called. Does not wait for the deletion.
  ~Scene();

  void KeepNamespace() { keep_namespace_ = true; }

  Cluster& cluster() { return cluster_; }
  const std::string& ns() const { return ns_; }
  const PodWatcher& pods() const { return pods_; }

  // Calls to the API server. Namespaced objects are in the scene's namespace by default.
  kube::Result<Json> Create(const kube::Resource& resource, Json object);
  // The object as the API server would store it.
  kube::Result<Json> CreateInADryRun(const kube::Resource& resource, const Json& object);
  kube::Result<Json> Get(const kube::Resource& resource, const std::string& name);
  kube::Result<std::vector<Json>> List(const kube::Resource& resource,
                                       const std::string& label_selector = "");
  kube::Result<Json> Patch(const kube::Resource& resource, const std::string& name,
                           Json merge_patch);
  kube::Result<> Delete(const kube::Resource& resource, const std::string& name);

  // The state for a failure's message: pods, events, configs and the operator's programs. `pod` is
  // shown in full.
  std::string Describe(const std::string& pod);

 private:
  Scene(Cluster& cluster, std::string ns);
  static kube::Result<std::unique_ptr<Scene>> MakeNamed(Cluster& cluster, Json metadata);
  kube::ObjectKey KeyIn(const kube::Resource& resource, const std::string& name) const;

  Cluster& cluster_;
  std::string ns_;
  PodWatcher pods_;
  kube::TaskGroup tasks_;
  bool keep_namespace_ = false;
};

}  // namespace e2e
