// SPDX-License-Identifier: Apache-2.0
// Feature: a part of the operator beside the placement of pods, such as scheduling policies.
// main.cc registers the features; the operator's libraries know only this interface.
//
// A Feature serves its webhooks in every replica. The replica that leads makes a FeatureTerm: its
// watches and its reconciler, which has a controller of its own and a single request. The request
// is enqueued at the start, by changes of the ClusterPodPlacementConfig, by events of the objects
// that the term owns, and by the term itself. Thread: the client's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/client/client.h"
#include "kube/controller/reconciler.h"
#include "kube/server/https_server.h"
#include "kube/types/unstructured.h"
#include "operator/config_store.h"
#include "operator/objects/operand_store.h"
#include "operator/objects/options.h"
#include "operator/objects/webhook_configurations.h"
#include "operator/status/feature_condition.h"

namespace operator_ {

// What a term works with. All of it outlives the term.
struct FeatureContext {
  kube::Client& client;
  kube::Clock& clock;
  const OperandOptions& options;
  const ConfigStore& configs;
  OperandStore& store;
  // Enqueues the request, paced as for events of objects.
  std::function<void()> changed;
  // Continues the deletion of the ClusterPodPlacementConfig: Remains() is empty.
  std::function<void()> removed;
  // Writes the status of the ClusterPodPlacementConfig: Conditions() have changed.
  std::function<void()> reported;
};

class FeatureTerm : public kube::Reconciler {
 public:
  // Starts the watches; `tasks` must be stopped before this is destroyed.
  virtual void Start(kube::TaskGroup& tasks) = 0;
  // True for the objects of the OperandStore that are the feature's; their events reach nothing
  // else.
  virtual bool Owns(const kube::Unstructured& object) const = 0;
  // What the deletion of the ClusterPodPlacementConfig waits for, for its status; "" if nothing of
  // the feature is left.
  virtual std::string Remains() const = 0;
  // The feature's own conditions of the ClusterPodPlacementConfig, as far as they are known. Others
  // stay as they are. They make nothing Degraded.
  virtual std::vector<FeatureCondition> Conditions() const { return {}; }
};

class Feature {
 public:
  virtual ~Feature() = default;

  // The name of its controller, unique in the operator.
  virtual std::string_view name() const = 0;
  // Its Deployments in the operator's namespace, for metrics.
  virtual std::vector<std::string> Deployments() const = 0;
  // The kinds that the operator validates for it, at the paths that AddTo() adds.
  virtual std::vector<ValidatedKind> ValidatedKinds() const = 0;
  // `server` must stop before this is destroyed.
  virtual void AddTo(kube::HttpsServer& server) = 0;
  virtual std::unique_ptr<FeatureTerm> NewTerm(FeatureContext context) = 0;
};

using Features = std::vector<std::unique_ptr<Feature>>;

}  // namespace operator_
