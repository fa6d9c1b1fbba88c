// SPDX-License-Identifier: Apache-2.0
// PlacementReconciler: schedules one Placement and writes only differences: the PlacementDecisions
// in their safe order, then the status, then the events.
//
// It runs when all watches are complete. A conflict, or a failure in the middle, ends the pass; the
// next one continues from what is stored then. Thread: the client's.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "fleet/api/budgets.h"
#include "fleet/hub/decision_events.h"
#include "fleet/hub/decision_writer.h"
#include "fleet/hub/fleet_store.h"
#include "fleet/hub/ownership.h"
#include "fleet/hub/placement_cel.h"
#include "fleet/hub/wanted_pages.h"
#include "fleet/scheduling/schedule.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/controller/event_recorder.h"
#include "kube/controller/reconciler.h"
#include "kube/types/resource.h"

namespace fleet {

struct PlacementReconcilerOptions {
  PlacementsMode placements = PlacementsMode::kClaimed;
  // A misconfigured Placement loses its decisions, as in OCM, instead of keeping them.
  bool clear_misconfigured = false;
  ScheduleOptions schedule;
};

class PlacementReconciler final : public kube::Reconciler, private DecisionListener {
 public:
  // The references outlive this.
  PlacementReconciler(kube::Client& client, kube::Clock& clock, FleetStore& store,
                      PlacementCel& cel, kube::EventRecorder& events,
                      PlacementReconcilerOptions options);

  // Reconciler
  kube::Async<kube::Outcome> Reconcile(kube::Request request) override;

 private:
  // What a pass wants to write.
  struct Pass {
    Placement placement;
    std::vector<DecisionWrite> plan;
    std::map<std::string, std::string> versions;
    PlacementStatus status;
    DecisionChanges changes;
    std::optional<kube::WallTime> next;
    bool scores_written = false;
  };

  // Whether `placement` is to be reconciled; if its claim is incomplete, records an event, once.
  bool IsOurs(const Placement& placement);
  // For a Placement that exceeds a limit and is not with the store: says so in its status.
  kube::Async<> SayLeftOut(kube::ObjectKey key, Excess excess);
  // No I/O.
  Pass Decide(const Placement& placement);
  // Why there is no room for the decisions that are wanted, or "". Fewer than before always have.
  std::string ExceedsDecisions(const kube::ObjectKey& key,
                               const std::vector<WantedPage>& wanted) const;
  // Plans the writes of `wanted`, on the pages where clusters are already, unless only scores
  // differ and were written a moment ago.
  void PlanWrites(std::vector<WantedPage>& wanted, Pass& pass);
  kube::Async<> Write(Pass& pass);
  kube::Async<> WriteStatus(Pass& pass);
  void RecordEvents(Pass& pass);
  void Forget(const kube::ObjectKey& placement);

  // DecisionListener
  void OnStored(const PlacementDecision& decision) override { store_.PutWritten(decision); }
  void OnDeleted(const kube::ObjectKey& decision) override { store_.RemoveWritten(decision); }

  kube::Client& client_;
  kube::Clock& clock_;
  FleetStore& store_;
  PlacementCel& cel_;
  kube::EventRecorder& events_;
  PlacementReconcilerOptions options_;
  // Placements with an event that the claim is incomplete.
  std::unordered_set<kube::ObjectKey> warned_;
  // The warnings about scores of the last pass, where there were some.
  std::unordered_map<kube::ObjectKey, std::vector<std::string>> score_warnings_;
  // When scores were written last: an older CRD has no field for it.
  std::unordered_map<kube::ObjectKey, kube::WallTime> scores_written_;
  // The last status that was written, and the resourceVersion after it: of what an older CRD
  // prunes, another attempt would not store more.
  struct Attempt {
    std::string resource_version;
    size_t status_hash = 0;
  };
  std::unordered_map<kube::ObjectKey, Attempt> attempts_;
};

}  // namespace fleet
