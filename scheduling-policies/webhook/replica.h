// SPDX-License-Identifier: Apache-2.0
// A replica of the policy webhook reports in a Lease to the operator which policies it applies.
//
// The Lease is in the operator's namespace and has the name of the replica's pod. The operator
// calls a policy Ready when the Lease of every replica has at least its resourceVersion: no replica
// answers a review without the policy then (docs/decisions/acknowledged-policies.md).
//
// The replica creates the Lease before it lists policies, and answers no review unless it has
// renewed the Lease lately. So a replica that the operator does not see lists after the operator
// looked, and one whose Lease the operator deletes as dead answers nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "kube/types/coordination.pb.h"
#include "kube/types/version_number.h"

namespace policy {

// The value of api::kOperandLabel on the Leases, and on the pods.
inline constexpr std::string_view kReplicaOperand = "policy-webhook";
// The highest resourceVersion that the replica has in its index, of each kind.
inline constexpr std::string_view kSeenAnnotation =
    "multiarch.openshift.io/seen-podschedulingpolicies";
inline constexpr std::string_view kSeenOfClusterAnnotation =
    "multiarch.openshift.io/seen-clusterpodschedulingpolicies";

inline constexpr std::chrono::seconds kReplicaRenewsEvery{10};
// A replica stops answering reviews so long after its last renewal.
inline constexpr std::chrono::seconds kReplicaAnswersFor{15};
// The operator deletes a Lease that it has not seen renewed for so long, by its own clock.
inline constexpr std::chrono::seconds kReplicaDeadAfter{40};

// The Leases of all replicas: "multiarch.openshift.io/operand=policy-webhook".
std::string ReplicaSelector();

// Resource versions as numbers; 0 is below every version.
struct SeenVersions {
  uint64_t policies = 0;
  uint64_t cluster_policies = 0;

  bool operator==(const SeenVersions&) const = default;
};

using kube::VersionNumber;

// Writes label and annotations.
void WriteReplica(const SeenVersions& seen, kube::coordination::Lease& lease);
// 0 where an annotation is absent or malformed: every user who may write Leases in the operator's
// namespace can write them.
SeenVersions SeenBy(const kube::coordination::Lease& lease);

}  // namespace policy
