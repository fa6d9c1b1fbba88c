// SPDX-License-Identifier: Apache-2.0
// ManifestWork: OCM's object for what one cluster has to apply, in place of a PodPlacementWork. It
// is in the cluster's namespace on the hub too; OCM's work agent applies it and writes its status.
// Pure conversions: the rest of a rollout knows only PodPlacementWork.
//
// A success needs more than the agent's conditions, which are about the objects' existence: the
// agent reads, by feedback rules, whether the cluster's operator reports each object as Available,
// and the annotation kWorkHashAnnotation of the object, so that no value from before is taken for
// an answer about the newest objects.
//
// No executor is set: the agent applies with its own rights.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "fleet/api/fleet_pod_placement.h"
#include "fleet/api/pod_placement_work.h"
#include "kube/base/error.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace fleet {

// Annotations of a ManifestWork, which has no fields for them: kWorkHashAnnotation, and when the
// hub wrote it.
inline constexpr std::string_view kWorkGivenAtAnnotation =
    "fleet.multiarch.openshift.io/work-given-at";

// OCM's webhook refuses a ManifestWork whose manifests have more bytes.
inline constexpr size_t kMaxManifestsBytes = 500 * 1024;

// The bytes of the manifests of `objects`, as that webhook counts them.
size_t ManifestsBytes(const std::vector<kube::Json>& objects);

// As a merge patch: the annotations and the spec of the ManifestWork `name`. The objects are as in
// FleetPodPlacementSpec.
//
// They are applied server-side, with a field manager of this name: what another work has given to
// the cluster is a conflict, unless `spec.adopt`.
kube::Json ManifestWorkContent(std::string_view name, const PodPlacementWorkSpec& spec);

// The merge patch that changes only the deletion policy.
kube::Json ManifestWorkPolicy(DeletionPolicy policy);

// A ManifestWork as the PodPlacementWork that it stands for. A part of its spec that is not as the
// hub writes it is one of the problems, and it has no answer then. `status` has one condition,
// kSucceededCondition; its transition time is the latest time in the agent's answer.
// Errors: kInvalid only if `json` is not a JSON object.
kube::Result<PodPlacementWork> WorkFromManifestWork(const kube::Json& json);

inline constexpr kube::Resource kManifestWorks{"work.open-cluster-management.io", "v1",
                                               "manifestworks", "ManifestWork"};

}  // namespace fleet
