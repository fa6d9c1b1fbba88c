// SPDX-License-Identifier: Apache-2.0
// Scene: where one flow plays: a namespace of its own, under watch from before its first pod.
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
  // Creates the namespace NAME-XXXXX and waits until pods can be created in it. `labels` go on top
  // of kSceneLabel.
  static kube::Result<std::unique_ptr<Scene>> Make(Cluster& cluster, const std::string& name,
                                                   Json labels);
  // The same in a namespace of that very name.
  static kube::Result<std::unique_ptr<Scene>> Open(Cluster& cluster, const std::string& ns);
  // Asks for the namespace's deletion (unless it is to be kept), but does not wait for it.
  ~Scene();

  void KeepNamespace() { keep_namespace_ = true; }

  Cluster& cluster() { return cluster_; }
  const std::string& ns() const { return ns_; }
  const PodWatcher& pods() const { return pods_; }

  // Calls by what a flow names: objects without a namespace go into the scene's.
  kube::Result<Json> Create(const kube::Resource& resource, Json object);
  kube::Result<Json> Get(const kube::Resource& resource, const std::string& name);
  kube::Result<std::vector<Json>> List(const kube::Resource& resource,
                                       const std::string& label_selector = "");
  kube::Result<Json> Patch(const kube::Resource& resource, const std::string& name,
                           Json merge_patch);
  kube::Result<> Delete(const kube::Resource& resource, const std::string& name);

  // What a person needs to understand a failure: pods, events, configs, our programs. `pod` is
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
