// SPDX-License-Identifier: Apache-2.0
// Merging: adds the criteria of scheduling policies to a pod spec. What the pod has wins over
// cluster policies, these win over those of the namespace.
//
// Merging twice changes nothing more: the API server reinvokes webhooks, workloads are updated, and
// a pod comes from a template that was merged before.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/error.h"
#include "kube/types/unstructured.h"
#include "scheduling-policies/scheduling_policy.h"

namespace policy {

struct Merged {
  // The fields that merging may change, with the policies merged in; null and [] are as absent.
  kube::Json spec;
  // The criteria that were skipped, for the user.
  std::vector<std::string> warnings;
  // The first criterion of a cluster policy that a limit has skipped; "" for none.
  std::string beyond_limit;
};

// Merges `policies`, in their order (Precedes()), into the pod spec `spec`. A spec with a node name
// was bound by its author, or by an earlier merging: it gets tolerations only, because a kubelet
// fails bound pods that do not fit.
// Beyond a limit of work (merge_cost.h), required node affinity and tolerations are skipped.
// Errors: kInvalid if a field of `spec` has the wrong type.
kube::Result<Merged> MergedSpec(const kube::Json& spec,
                                std::span<const SchedulingPolicy* const> policies);

// The fields of a pod spec that Merge() reads.
inline constexpr std::array<std::string_view, 6> kMergedFields = {
    "affinity", "nodeName", "nodeSelector", "schedulerName", "schedulingGates", "tolerations"};

struct MergeResult {
  // The smallest JSON Patch (RFC 6902) of the object, "" for no change. Fields that are not merged
  // are not in it.
  std::string patch;
  // As in Merged.
  std::vector<std::string> warnings;
  std::string beyond_limit;
};

// MergedSpec() as a patch; `spec` is at `path` ("/spec/template/spec") in its object.
kube::Result<MergeResult> Merge(const kube::Json& spec, std::string_view path,
                                std::span<const SchedulingPolicy* const> policies);

}  // namespace policy
