// SPDX-License-Identifier: Apache-2.0
// OcmStandIn: the part of OCM's placement controller that matters for another controller beside it.
// It skips the Placements that have the annotation experimental-scheduling-disable "true", and
// schedules all others: it writes their PlacementDecisions, and empties them if the Placement is
// misconfigured. It selects all clusters without taints, in the order of their names.
//
// Like OCM's controller, it decides on state that it read some time ago, so it may still write just
// after a Placement was given to another controller.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/types/unstructured.h"

namespace e2e {

class OcmStandIn {
 public:
  // Both outlive this. `client` is the account of the controller.
  OcmStandIn(kube::Client& client, kube::Clock& clock) : client_(client), clock_(clock) {}

  // Repeats passes over all Placements until cancelled.
  boost::asio::awaitable<void> Run();

  // Complete passes. What was stored before a pass began is known in it and in all later ones.
  int passes() const { return passes_; }

  // Whether it schedules the Placement.
  static bool Reconciles(const kube::Json& placement);

 private:
  using Page = std::vector<std::string>;  // names of clusters

  kube::Async<> Pass();
  kube::Async<> Reconcile(kube::Json placement, std::vector<Page> pages);
  kube::Async<> WritePage(const kube::Json& placement, size_t number, Page page);

  kube::Client& client_;
  kube::Clock& clock_;
  int passes_ = 0;
};

}  // namespace e2e
