// SPDX-License-Identifier: Apache-2.0
// The status of a scheduling policy: conditions Accepted and Ready. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "kube/base/clock.h"
#include "scheduling-policies/scheduling_policy.h"

namespace operator_ {

// The reason of the condition Ready of a policy that is left out (scheduling-policies/budget.h).
inline constexpr std::string_view kTooLarge = "TooLarge";

// What all policies have in common.
struct PolicyServing {
  // The plugin is enabled, and the ClusterPodPlacementConfig is not being deleted.
  bool enabled = false;
  // A replica of the webhook answers.
  bool available = false;
  // Why not: a reason such as "QuotaExceeded"; "" if it is not known.
  std::string cause;

  bool operator==(const PolicyServing&) const = default;
};

// What the operator found out about one policy.
struct PolicyView {
  // What is wrong with the spec; "" if it is accepted.
  std::string problems;
  // It can select a pod.
  bool selects = false;
  // It is in a namespace in which nothing is changed.
  bool in_reserved_namespace = false;
  // The webhook leaves it out, as there is no room for it.
  bool too_large = false;
  // The API server calls the webhook for the policy, and all replicas have it.
  bool in_force = false;
  // Unless it is in force: the first of both, and the replicas that have it, and all.
  bool configured = false;
  size_t having = 0;
  size_t replicas = 0;
};

// The new status of `policy`, based on its current one: an unchanged condition keeps its transition
// time, and conditions of others stay. The messages are the same for every tenant, and have nothing
// of the operator's namespace in them that changes often: each change is a write for each policy.
policy::PolicyStatus StatusOf(const policy::SchedulingPolicy& policy, const PolicyView& view,
                              const PolicyServing& serving, kube::WallTime now);

}  // namespace operator_
