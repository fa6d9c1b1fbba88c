// SPDX-License-Identifier: Apache-2.0
// Rollouts: the rollouts of a hub during a term of leadership: watches of FleetPodPlacements and
// their work objects, and the reconciliation. Changes that come within kRolloutCoalesce are planned
// once. Thread: the client's.
//
// Nothing is planned before these watches are complete, and the decisions of Placements are known.
// CRDs that are missing delay that until they exist.
#pragma once

#include <chrono>

#include "fleet/api/fleet_pod_placement.h"
#include "fleet/bounds/bounded_watch.h"
#include "fleet/rollout/controller/rollout_reconciler.h"
#include "fleet/rollout/controller/rollout_store.h"
#include "fleet/rollout/work_kind.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/cache/handed.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"
#include "kube/controller/controller.h"
#include "kube/controller/event_recorder.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace fleet {

inline constexpr char kRolloutController[] = "rollout";
inline constexpr std::chrono::milliseconds kRolloutCoalesce{200};

// What the references name outlives the Rollouts.
struct RolloutParts {
  kube::Client& client;
  kube::Clock& clock;
  kube::EventRecorder& events;
  RolloutDecisions& decisions;
  // May be null.
  kube::ControllerObserver* observer = nullptr;
  // The kind of the work objects.
  WorkKind works = kPodPlacementWorkKind;
};

class Rollouts {
 public:
  // `workers`: FleetPodPlacements that are written at a time.
  Rollouts(RolloutParts parts, int workers);

  void Start(kube::TaskGroup& tasks);

  // As RolloutStore::PlacementChanged().
  void PlacementChanged(const kube::ObjectKey& placement) { store_.PlacementChanged(placement); }

  // Whether FleetPodPlacements wait for a worker.
  bool busy() { return controller_.queue().size() > 0; }
  const RolloutStore& store() const { return store_; }
  // The watch of the FleetPodPlacements, which have a budget (fleet/api/budgets.h).
  BoundedWatch& fleets() { return fleets_; }

 private:
  boost::asio::awaitable<void> AwaitSync();

  RolloutDecisions& decisions_;
  const WorkKind kind_;
  RolloutStore store_;
  BoundedWatch fleets_;
  kube::Informer<kube::Handed<kube::Unstructured>> works_;
  RolloutReconciler reconciler_;
  kube::Controller controller_;
};

}  // namespace fleet
