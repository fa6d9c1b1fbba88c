// SPDX-License-Identifier: Apache-2.0
// Gates: removes gates from the pods that wait when a shard, the cluster's operands or a dead
// controller cannot.
//
//   UngateRound round;                        // kept from one call to the next
//   Result<bool> complete = co_await UngateStep(client, clock, ns, choose, round);
//   if (complete && *complete) ...            // every gated pod was visited once
//
// Always asked of the API server itself, a page at a time: a cache could miss the pod that was
// created an instant ago, and a watch of all pods would cost the operator more than it asks for in
// months. A round sees the pods of one moment, so it ends whatever is created meanwhile, and a pod
// whose write is refused keeps no other waiting.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/types/core.pb.h"

namespace operator_ {

// One look at every pod that no node has taken.
struct UngateRound {
  // Pods of interest, which have a gate.
  size_t gated = 0;
  // Of these, the pods that keep their gates for now, as ChooseGates named none.
  size_t kept = 0;
  // Of these, the pods whose chosen gates are removed.
  size_t ungated = 0;
  // Of these, the pods that could not be written; the first of them, and the last error.
  size_t failed = 0;
  std::vector<kube::core::ObjectReference> failed_pods;
  std::optional<kube::Error> error;

  // True before the first step.
  bool new_round() const { return page.empty() && last.empty(); }

  // Where the next step goes on: a page of the list, and the last pod that is done with.
  std::string page;
  std::string last;
};

// At most so many of UngateRound::failed_pods.
inline constexpr size_t kNamedPods = 10;

// Which gates to remove from a pod: nullopt if the pod is of no interest, none if it may wait.
using ChooseGates = std::function<std::optional<std::vector<std::string>>(const kube::core::Pod&)>;

// Both gates of every pod that has one of them.
std::optional<std::vector<std::string>> BothGates(const kube::core::Pod& pod);

// Goes on with `round` over the pods of `ns` (empty: of all namespaces): some seconds and some
// hundred writes at most. A write removes gates and sets their labels, nothing else. Returns:
// whether the round is complete. Errors: those of listing pods; the next call goes on where this
// one ended.
kube::Async<bool> UngateStep(kube::Client& client, kube::Clock& clock, std::string ns,
                             ChooseGates choose, UngateRound& round);

// Removes both gates from all pods, in rounds that are `pause` apart, until one finds no gated pod;
// at most `rounds` of them, and none that begins after `deadline`. For programs that do nothing
// else meanwhile. Returns: the last round. Errors: those of listing pods; kCancelled.
kube::Async<UngateRound> UngateAll(kube::Client& client, kube::Clock& clock, int rounds,
                                   kube::Duration pause, kube::TimePoint deadline);

// "2 of 5 pods could not be ungated: shop/a, shop/b (PermissionDenied: ...)"; "" if none failed.
// One line of ASCII.
std::string DescribeFailures(const UngateRound& round);

}  // namespace operator_
