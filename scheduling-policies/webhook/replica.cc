// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/webhook/replica.h"

#include "api/names.h"

namespace policy {
namespace {

uint64_t NumberAt(const kube::coordination::Lease& lease, std::string_view annotation) {
  const auto& annotations = lease.metadata().annotations();
  auto found = annotations.find(std::string(annotation));
  return found == annotations.end() ? 0 : VersionNumber(found->second);
}

}  // namespace

std::string ReplicaSelector() {
  return std::string(api::kOperandLabel) + "=" + std::string(kReplicaOperand);
}

void WriteReplica(const SeenVersions& seen, kube::coordination::Lease& lease) {
  kube::meta::ObjectMeta& metadata = *lease.mutable_metadata();
  (*metadata.mutable_labels())[std::string(api::kOperandLabel)] = kReplicaOperand;
  auto& annotations = *metadata.mutable_annotations();
  annotations[std::string(kSeenAnnotation)] = std::to_string(seen.policies);
  annotations[std::string(kSeenOfClusterAnnotation)] = std::to_string(seen.cluster_policies);
}

SeenVersions SeenBy(const kube::coordination::Lease& lease) {
  return {.policies = NumberAt(lease, kSeenAnnotation),
          .cluster_policies = NumberAt(lease, kSeenOfClusterAnnotation)};
}

}  // namespace policy
