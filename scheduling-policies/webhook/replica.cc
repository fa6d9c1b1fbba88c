// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/webhook/replica.h"

#include <charconv>

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

uint64_t VersionNumber(std::string_view resource_version) {
  uint64_t number = 0;
  const char* end = resource_version.data() + resource_version.size();
  auto [last, failure] = std::from_chars(resource_version.data(), end, number);
  return failure == std::errc() && last == end ? number : 0;
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
