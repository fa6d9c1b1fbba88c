// SPDX-License-Identifier: Apache-2.0
// WorkKind: the kind of the work objects of a hub. What differs between kinds is here; everything
// else works with PodPlacementWork. A hub writes and reads one kind, and ignores objects of others.
#pragma once

#include <string_view>

#include "fleet/api/fleet_pod_placement.h"
#include "fleet/api/pod_placement_work.h"
#include "kube/base/error.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace fleet {

struct WorkKind {
  kube::Resource resource;
  // As a merge patch: what the object `name` of this kind has besides its name and labels.
  kube::Json (*content)(std::string_view name, const PodPlacementWorkSpec& spec);
  // The merge patch that changes only the deletion policy.
  kube::Json (*policy)(DeletionPolicy policy);
  // Adds what no object of this kind can have to the problems.
  void (*check)(FleetPodPlacement& fleet);
  // Errors: kInvalid only if `json` is not a JSON object.
  kube::Result<PodPlacementWork> (*read)(const kube::Json& json);
};

// For the agents of fleet/agent.
extern const WorkKind kPodPlacementWorkKind;
// For OCM's work agents.
extern const WorkKind kManifestWorkKind;

// By the name of the kind, such as "ManifestWork"; nullptr if there is none.
const WorkKind* FindWorkKind(std::string_view name);

}  // namespace fleet
