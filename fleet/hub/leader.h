// SPDX-License-Identifier: Apache-2.0
// Leader: the work of the hub's replica that holds the Lease: watches, the store, the
// reconciliation of Placements, rollouts, and the membership of the fleet if this hub owns it, and
// what members know about images if this hub shares it.
// Changes within kCoalesce cause one pass.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "fleet/bounds/bounded_watch.h"
#include "fleet/cel/evaluator.h"
#include "fleet/hub/cluster_cel.h"
#include "fleet/hub/fleet_store.h"
#include "fleet/hub/fleet_watch.h"
#include "fleet/hub/placement_reconciler.h"
#include "fleet/hub/store_decisions.h"
#include "fleet/image-facts/fact_collector.h"
#include "fleet/rollout/controller/rollouts.h"
#include "fleet/rollout/work_kind.h"
#include "fleet/standalone/membership/membership.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/client/client.h"
#include "kube/controller/controller.h"
#include "kube/controller/event_recorder.h"
#include "kube/controller/leadership.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace fleet {

inline constexpr char kPlacementController[] = "placement";
inline constexpr std::chrono::milliseconds kCoalesce{200};

struct LeaderOptions {
  // Placements, and FleetPodPlacements, that are written at a time.
  int workers = 8;
  PlacementReconcilerOptions reconciler;
  // The kind of the objects that give a rollout to the clusters.
  WorkKind works = kPodPlacementWorkKind;
  // The hub's namespace, if it shares image facts; else "".
  std::string image_facts_namespace;
  // nullopt: OCM's registration controller owns the membership.
  std::optional<MembershipOptions> membership;
};

class Leader;

// The parts that outlive a term of leadership.
struct LeaderParts {
  // The Leader of the current term; nullptr between terms.
  Leader*& current;
  kube::Client& client;
  kube::Clock& clock;
  kube::EventRecorder& events;
  cel::Evaluator& evaluator;
  // Observes kPlacementController and kRolloutController; may be null.
  kube::ControllerObserver* observer = nullptr;
  kube::ControllerObserver* rollout_observer = nullptr;
};

class Leader final : public kube::Term {
 public:
  // All its tasks run in `tasks`.
  Leader(LeaderParts parts, LeaderOptions options, kube::TaskGroup& tasks);
  ~Leader() override { parts_.current = nullptr; }

  // Term
  boost::asio::awaitable<void> Run(kube::TaskGroup& tasks) override;

  // Whether Placements or FleetPodPlacements wait for a worker.
  bool busy() { return controller_.queue().size() > 0 || rollouts_.busy(); }
  const FleetStore& store() const { return store_; }
  const RolloutStore& rollouts() const { return rollouts_.store(); }
  // Calls `visit` with each watch whose objects have a budget (fleet/api/budgets.h).
  template <class Visit>
  void ForEachBounded(const Visit& visit) {
    for (BoundedWatch* watch : watch_.bounded()) visit(*watch);
    visit(rollouts_.fleets());
  }
  const std::optional<Membership>& membership() const { return membership_; }
  // As Explain() (explain.h). A task of the term: the caller may outlive it.
  kube::Async<kube::Json> Answer(kube::ObjectKey placement, std::optional<kube::Json> simulated);

 private:
  void RecordLeftOut(const kube::Resource& resource, const kube::ObjectKey& key,
                     const std::string& message);

  struct Question;
  boost::asio::awaitable<void> AnswerTo(std::shared_ptr<Question> question,
                                        kube::ObjectKey placement,
                                        std::optional<kube::Json> simulated);

  LeaderParts parts_;
  LeaderOptions options_;
  kube::TaskGroup& tasks_;
  FleetStore store_;
  FleetWatch watch_;
  ClusterCel cel_;
  PlacementReconciler reconciler_;
  kube::Controller controller_;
  StoreDecisions decisions_;
  Rollouts rollouts_;
  std::optional<Membership> membership_;
  std::optional<FactCollector> image_facts_;
};

}  // namespace fleet
