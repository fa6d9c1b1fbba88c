// SPDX-License-Identifier: Apache-2.0
// WriteDecisions: makes the planned writes of PlacementDecisions (decision_writes.h) in sequence;
// the first failure stops the rest. Each write is guarded by the resourceVersion that the plan was
// made on, or that of the write before. Thread: the client's.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fleet/api/placement_decision.h"
#include "fleet/hub/decision_events.h"
#include "fleet/hub/decision_writes.h"
#include "kube/base/async.h"
#include "kube/client/client.h"
#include "kube/types/resource.h"

namespace fleet {

// The Placement that owns the PlacementDecisions.
struct DecisionOwner {
  kube::ObjectKey placement;
  std::string uid;
};

// Gets the stored object after each write.
class DecisionListener {
 public:
  virtual ~DecisionListener() = default;
  virtual void OnStored(const PlacementDecision& decision) = 0;
  virtual void OnDeleted(const kube::ObjectKey& decision) = 0;
};

// `versions`: the resourceVersion of each PlacementDecision that exists, by name. Adds to `changes`
// what was done, also before a failure; the additional PlacementDecisions that a plan deletes again
// are left out.
// Errors: the API server's; kConflict if another client wrote first, or a PlacementDecision is not
// in the cache yet.
kube::Async<> WriteDecisions(kube::Client& client, DecisionOwner owner,
                             std::vector<DecisionWrite> plan,
                             std::map<std::string, std::string> versions,
                             DecisionListener& listener, DecisionChanges& changes);

}  // namespace fleet
