// SPDX-License-Identifier: Apache-2.0
// What must hold when all faults have ended and time has passed: no pod waits without a reason that
// holds (I3), and nothing is left of what was removed (I7).
#pragma once

#include <map>
#include <string>
#include <tuple>

#include "sim/checker/history.h"
#include "sim/checker/violation.h"

namespace sim::checker {

struct EndOfRun {
  Time at{};
  // After this, every program ran, no request failed and no registry.
  Time faults_ended{};
};

// I3: no gated pod, but those that wait for the gates of other controllers, that are being deleted,
// whose writes are refused, that are younger than the bound, that their author has gated where
// there is no ClusterPodPlacementConfig, and so no controller, or that were stored after the last
// pod of an operator whose namespace is deleted (docs/protocol.md, D8).
void CheckNoPodWaits(const EndOfRun& end, const History& history, const Facts& facts,
                     Violations& violations);

// I7: of the objects that the product's programs have created, none is left in a namespace without
// PodPlacementConfig, none of the cluster's operands without ClusterPodPlacementConfig, and none at
// all without the operator's namespace. No namespace waits for one to be deleted.
class Leftovers {
 public:
  explicit Leftovers(const Facts& facts) : facts_(facts) {}

  void Add(const Commit& commit, const Writer& writer);
  void Finish(const EndOfRun& end, const History& history, Violations& violations) const;

 private:
  using Id = std::tuple<std::string, std::string, kube::ObjectKey>;  // group, plural, key

  // Why the object must be gone; "" if it need not.
  std::string MustBeGone(const Id& id, const EndOfRun& end, const History& history) const;

  const Facts& facts_;
  // The objects that exist, and when they were created.
  std::map<Id, Time> objects_;
};

}  // namespace sim::checker
