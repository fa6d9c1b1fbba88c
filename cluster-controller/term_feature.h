// SPDX-License-Identifier: Apache-2.0
// TermFeature: what a feature does beside the placement of pods, while this replica leads. It may
// use the parts that place pods. main.cc registers the features; without any, pods are placed just
// as well.
//
// Images of other objects than pods wait in the queue of the pods, under names with a '/', which no
// pod has (PodInspector::IsPod()). Thread: the client's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "cluster-controller/findings/image_findings.h"
#include "cluster-controller/namespace_selection.h"
#include "cluster-controller/pod_inspector.h"
#include "inspection/inspector.h"
#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/client/client.h"
#include "kube/controller/event_recorder.h"
#include "kube/types/resource.h"
#include "watches/fresh_configs.h"

namespace cluster_controller {

class TermFeature {
 public:
  // Called after all tasks of the term have ended.
  virtual ~TermFeature() = default;

  // Spawns its tasks. All of them must be in `tasks`, or end before one that is in it: nothing
  // outlives the term.
  virtual void Start(kube::TaskGroup& tasks) = 0;
  // To be called with every version of the ClusterPodPlacementConfig; nullptr: there is none.
  virtual void Follow(const api::ClusterPodPlacementConfig* config) = 0;
  // To be called when something is there that `key` waits for. False if it is not of this feature.
  virtual bool Wake(const kube::ObjectKey& key) = 0;
};

// The parts of a term that features use; they outlive its features.
struct TermParts {
  std::string operator_namespace;
  kube::Client& client;
  kube::Clock& clock;
  kube::EventRecorder& events;
  watches::FreshConfigs& configs;
  PodInspector& inspector;
  NamespaceSelection& namespaces;
  inspection::ImageInspector& images;
  // What pods are placed by, beside the indexes of their images.
  ImageFindings& findings;
};

// Creates it for a term of leadership.
using NewTermFeature = std::function<std::unique_ptr<TermFeature>(const TermParts& parts)>;

}  // namespace cluster_controller
