// SPDX-License-Identifier: Apache-2.0
// What the agent of a cluster and the hub both read and write about the state of a ManagedCluster:
// conditions and the Lease. Pure.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "kube/base/clock.h"
#include "kube/types/object_fields.h"
#include "kube/types/unstructured.h"

namespace fleet {

// Conditions of a ManagedCluster. The agent sets Available to True or False, the hub to Unknown;
// the others are the hub's.
inline constexpr std::string_view kClusterAvailable = "ManagedClusterConditionAvailable";
inline constexpr std::string_view kHubAccepted = "HubAcceptedManagedCluster";
inline constexpr std::string_view kClusterJoined = "ManagedClusterJoined";

// The name of the Lease in the cluster's namespace on the hub, which the agent renews.
inline constexpr std::string_view kClusterLease = "managed-cluster-lease";

// spec.leaseDurationSeconds: how often the cluster's Lease is renewed. Defaults to 60; from 1 to
// 3600.
std::chrono::seconds LeaseDurationOf(const kube::Json& cluster);

// How their status is read: "True", ...
using kube::ConditionStatus;

struct NewCondition {
  std::string_view type;
  std::string_view status;
  std::string_view reason;
  std::string message;
};

// Replaces the condition of this type in `conditions`, a list of them, or adds it at the end. Its
// lastTransitionTime stays if its status does; other fields, such as an observedGeneration of
// another program, are dropped. Other conditions stay byte for byte.
void SetCondition(kube::Json& conditions, const NewCondition& condition, kube::WallTime now);

}  // namespace fleet
