// SPDX-License-Identifier: Apache-2.0
// RolloutReconciler: plans the rollout of one FleetPodPlacement and writes only differences: the
// work objects in the clusters' namespaces, the status, then events about changes of the status.
//
// A work object that cannot be written stops no other one; its error is retried, after
// RolloutStore::kRefusedRetry if the API server has refused the object. The finalizer of
// the FleetPodPlacement comes before its first work object, and goes when the last one is gone.
// Thread: the client's.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fleet/api/fleet_pod_placement.h"
#include "fleet/rollout/controller/rollout_store.h"
#include "fleet/rollout/plan.h"
#include "fleet/rollout/work_kind.h"
#include "fleet/rollout/work_writes.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/notifier.h"
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

  // How soon there may be room for more work objects.
  static constexpr std::chrono::minutes kRoomAgain{1};

 private:
  // The FleetPodPlacement from the store; from the API server, with the problem, if it is left out;
  // nullptr if there is none.
  kube::Async<std::shared_ptr<const FleetPodPlacement>> Find(kube::ObjectKey key);
  RolloutPlan Plan(const FleetPodPlacement& fleet) const;
  kube::Async<> SetFinalizer(const FleetPodPlacement& fleet, bool present);
  // Leaves clusters unchanged that have refused the newest objects a short time ago; the plan looks
  // again when their time is over. Returns: these failures.
  std::map<std::string, FailedWrite> HoldRefused(const FleetPodPlacement& fleet,
                                                 RolloutPlan& plan) const;
  // `failures`: of the clusters that are not written. What had no room is in the plan then. Errors:
  // the first one, after all writes have been tried.
  kube::Async<> Write(const FleetPodPlacement& fleet, RolloutPlan& plan,
                      std::vector<WorkWrite> writes, std::map<std::string, FailedWrite> failures);
  kube::Async<> WriteOne(const FleetPodPlacement& fleet, const WorkWrite& write);
  // Resumes when no other write with large objects is in progress; the next one may begin when what
  // is returned is destroyed. Errors: kCancelled.
  kube::Async<std::shared_ptr<void>> BeginLarge();
  // Forgets the object of a write that found none. Errors: kNotFound if it exists.
  kube::Async<> ForgetGone(const WorkWrite& write);
  kube::Async<> WriteStatus(const FleetPodPlacement& fleet, const RolloutPlan* plan);

  kube::Client& client_;
  kube::Clock& clock_;
  RolloutStore& store_;
  const RolloutDecisions& decisions_;
  kube::EventRecorder& events_;
  const WorkKind works_;
  // Parsed objects need up to 25 times the memory of their text, and there are several workers.
  bool large_ = false;
  kube::Notifier large_ended_;
};

}  // namespace fleet
