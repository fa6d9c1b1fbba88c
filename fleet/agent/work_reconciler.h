// SPDX-License-Identifier: Apache-2.0
// WorkReconciler: applies one PodPlacementWork of the hub in this cluster, and answers.
//
// The work comes from the watch of the hub, so that nothing changes while the hub is away; one that
// is too large to be kept, and this cluster's objects, are read live. Order: finalizer on the hub,
// apply, prune, answer. An apply names the resourceVersion that was read, and a deletion the uid:
// an object that another client wrote meanwhile is read again first. An error that passes by itself
// is retried with backoff; it does not replace the answer that the work has succeeded. Thread: the
// clients'.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fleet/agent/work_objects.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/cache/reader.h"
#include "kube/client/client.h"
#include "kube/controller/reconciler.h"

namespace fleet {

class WorkReconciler final : public kube::Reconciler {
 public:
  // A work that has failed is looked at again after this time, as an object that is in its way is
  // not watched.
  static constexpr std::chrono::seconds kLookAgain{60};
  // While objects are being deleted, or the cluster's operator refuses their deletion.
  static constexpr std::chrono::seconds kDeletingDelay{10};

  // All outlive this. `works`: those of this cluster's namespace on the hub.
  WorkReconciler(kube::Client& hub, kube::Client& member,
                 const kube::Reader<kube::Unstructured>& works, kube::Clock& clock)
      : hub_(hub), member_(member), works_(works), clock_(clock) {}

  kube::Async<kube::Outcome> Reconcile(kube::Request request) override;

 private:
  // The work as the hub has it; nullopt if it has none.
  kube::Async<std::optional<kube::Unstructured>> Find(kube::ObjectKey key);
  // The problems of applying; errors are those to retry.
  kube::Async<std::vector<WorkProblem>> Apply(const PodPlacementWork& work,
                                              const std::vector<WorkObject>& wanted,
                                              const std::string& log);
  kube::Async<std::optional<WorkProblem>> ApplyOne(const WorkObject& object,
                                                   const PodPlacementWork& work,
                                                   const std::set<std::string>& works,
                                                   const std::string& log);
  // Why the API server of the member refused `object`.
  kube::Async<WorkProblem> ProblemOf(kube::Error refused, const WorkObject& object);
  // `stored` is what `work` was read from.
  kube::Async<kube::Outcome> Remove(const PodPlacementWork& work, const kube::Unstructured& stored,
                                    const std::string& log);
  // The objects of a kind that the work with this uid applied, besides `except`. Empty where the
  // kind does not exist.
  kube::Async<std::vector<WorkObject>> Owned(const kube::Resource& kind, std::string uid,
                                             const std::vector<WorkObject>& except);
  // Deletes the objects of `work` that are not `wanted`. The PodPlacementConfigs go first: the
  // operator refuses to delete the ClusterPodPlacementConfig while any exists. Returns why an
  // object is still there.
  kube::Async<std::optional<WorkProblem>> DeleteOwned(const PodPlacementWork& work,
                                                      const std::vector<WorkObject>& wanted,
                                                      const std::string& log);
  kube::Async<> Delete(const WorkObject& object, const std::string& log);
  kube::Async<> OrphanOwned(const PodPlacementWork& work, const std::string& log);
  // Removes the marks, so that the object belongs to no work.
  kube::Async<> Orphan(const WorkObject& object, const std::string& log);
  kube::Async<> SetFinalizer(const PodPlacementWork& work, const kube::Unstructured& stored,
                             bool present);
  kube::Async<> Answer(const PodPlacementWork& work, int64_t generation,
                       std::vector<WorkProblem> problems);
  std::set<std::string> WorkUids() const;

  kube::Client& hub_;
  kube::Client& member_;
  const kube::Reader<kube::Unstructured>& works_;
  kube::Clock& clock_;
};

}  // namespace fleet
