// SPDX-License-Identifier: Apache-2.0
// Ungate: removes gates from pods when a shard or the cluster controller cannot.
//
//   UngateRound round;                        // kept from one call to the next
//   Result<bool> complete = co_await UngateStep(client, clock, ns, choose, round, log);
//   if (complete && *complete) ...            // every gated pod was visited once
//
// Pods are listed live, a page at a time: a cache could miss a pod that was created a moment ago,
// and a watch of all pods would cost the operator more than months of such lists. A round lists the
// pods of one resourceVersion, so it ends whatever is created meanwhile. A pod whose write is
// refused delays no other.
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

// One pass over all unscheduled pods.
struct UngateRound {
  // Pods for which ChooseGates returned a list.
  size_t gated = 0;
  // The gated pods that keep their gates for now, because ChooseGates named none.
  size_t kept = 0;
  // The gated pods whose chosen gates are removed.
  size_t ungated = 0;
  // The gated pods that could not be written; the first of them, and the last error.
  size_t failed = 0;
  std::vector<kube::core::ObjectReference> failed_pods;
  std::optional<kube::Error> error;
  // The list has expired: the pods of its later pages were not seen.
  bool expired = false;

  // True if a complete round proves that there was no gated pod when it began.
  bool found_none() const { return gated == 0 && !expired; }
  // True before the first step.
  bool new_round() const { return page.empty() && last.empty(); }

  // Where the next step continues: a page of the list, and the last pod that was handled.
  std::string page;
  std::string last;
};

// The maximum of UngateRound::failed_pods.
inline constexpr size_t kNamedPods = 10;

// The gates to remove from a pod: nullopt to ignore the pod, an empty list if it keeps its gates
// for now.
using ChooseGates = std::function<std::optional<std::vector<std::string>>(const kube::core::Pod&)>;

// Both gates of every pod that has one of them.
std::optional<std::vector<std::string>> BothGates(const kube::core::Pod& pod);

// Continues `round` over the pods of `ns` (empty: of all namespaces), for at most 5 s and 250
// writes. A write removes gates and their labels, nothing else: the label "removed" would say
// that the gate's decision was made, and the cluster controller would apply no preferences (I4).
// Returns: whether the round is complete, or has expired. `log`: the start of log lines,
// Request::log. Errors: those of listing pods; the next call continues where this one ended.
kube::Async<bool> UngateStep(kube::Client& client, kube::Clock& clock, std::string ns,
                             ChooseGates choose, UngateRound& round, const std::string& log);

// Removes both gates from all pods, in at most `rounds` rounds with `interval` between them, until
// a round finds no gated pod; none begins after `deadline`. For programs that have nothing else to
// do. Returns: the last round. Errors: those of listing pods; kCancelled.
kube::Async<UngateRound> UngateAll(kube::Client& client, kube::Clock& clock, int rounds,
                                   kube::Duration interval, kube::TimePoint deadline);

// "2 of 5 pods could not be ungated: shop/a, shop/b (PermissionDenied: ...)"; "" if none failed.
// One line of ASCII.
std::string DescribeFailures(const UngateRound& round);

}  // namespace operator_
