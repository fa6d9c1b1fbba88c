// SPDX-License-Identifier: Apache-2.0
// RolloutReconciler: plans the rollout of one FleetPodPlacement and writes only differences: the
// work objects in the clusters' namespaces, the status, then events about changes of the status.
//
// A work object that cannot be written stops no other one; its error is retried, after
// RolloutStore::kRefusedRetry if the API server has refused the object. The finalizer of
// the FleetPodPlacement comes before its first work object, and goes when the last one is gone.
// Thread: the client's.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fleet/api/fleet_pod_placement.h"
#include "fleet/rollout/controller/rollout_store.h"
#include "fleet/rollout/plan.h"
#include "fleet/rollout/work_kind.h"
#include "fleet/rollout/work_writes.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/controller/event_recorder.h"
#include "kube/controller/reconciler.h"

namespace fleet {

// What Placements have chosen.
class RolloutDecisions {
 public:
  virtual ~RolloutDecisions() = default;
  // Resumes when all Placements, PlacementDecisions and clusters are known. Before, a plan would
  // remove what it does not know. Errors: kCancelled.
  virtual kube::Async<> WaitForSync() = 0;
  // See RolloutOf().
  virtual PlacementRollout DecidedBy(const std::string& ns, const PlacementRef& ref) const = 0;
};

class RolloutReconciler final : public kube::Reconciler {
 public:
  // All references outlive this. `works`: the kind of the work objects.
  RolloutReconciler(kube::Client& client, kube::Clock& clock, RolloutStore& store,
                    const RolloutDecisions& decisions, kube::EventRecorder& events,
                    const WorkKind& works)
      : client_(client),
        clock_(clock),
        store_(store),
        decisions_(decisions),
        events_(events),
        works_(works) {}

  kube::Async<kube::Outcome> Reconcile(kube::Request request) override;

 private:
  RolloutPlan Plan(const FleetPodPlacement& fleet) const;
  kube::Async<> SetFinalizer(const FleetPodPlacement& fleet, bool present);
  // Leaves clusters unchanged that have refused the newest objects a short time ago; the plan looks
  // again when their time is over. Returns: these failures.
  std::map<std::string, FailedWrite> HoldRefused(const FleetPodPlacement& fleet,
                                                 RolloutPlan& plan) const;
  // `failures`: of the clusters that are not written. Errors: the first one, after all writes have
  // been tried.
  kube::Async<> Write(const FleetPodPlacement& fleet, const RolloutPlan& plan,
                      std::vector<WorkWrite> writes, std::map<std::string, FailedWrite> failures);
  kube::Async<> WriteOne(const WorkWrite& write);
  // Forgets the object of a write that found none. Errors: kNotFound if it exists.
  kube::Async<> ForgetGone(const WorkWrite& write);
  kube::Async<> WriteStatus(const FleetPodPlacement& fleet, const RolloutPlan* plan);

  kube::Client& client_;
  kube::Clock& clock_;
  RolloutStore& store_;
  const RolloutDecisions& decisions_;
  kube::EventRecorder& events_;
  const WorkKind works_;
};

}  // namespace fleet
