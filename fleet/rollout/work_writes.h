// SPDX-License-Identifier: Apache-2.0
// WorkWrites() - what a hub writes so that the work objects of a FleetPodPlacement are as a plan
// says. Pure. Nothing is written twice: where the objects are right already, there is no write.
//
// Each write stands alone. One that fails, because the object changed since, is planned again. The
// body of one may have 512 KiB, so it is made when it is sent (BodyOf()).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fleet/api/fleet_pod_placement.h"
#include "fleet/api/pod_placement_work.h"
#include "fleet/rollout/plan.h"
#include "fleet/rollout/work_kind.h"
#include "kube/base/clock.h"
#include "kube/types/unstructured.h"

namespace fleet {

struct WorkWrite {
  enum class Kind {
    kCreate,
    kPatch,        // the spec; a merge patch, with the resourceVersion that it was made on
    kPatchPolicy,  // the same, of the deletionPolicy alone
    kDelete,       // guarded by `uid` and `resource_version`
  };
  Kind kind;
  std::string cluster;  // the namespace of the object
  std::string name;
  std::string uid;
  std::string resource_version;
  kube::WallTime given_at{};  // of the spec
};

// The object, or the merge patch, of a write for `fleet`; null for kDelete.
kube::Json BodyOf(const WorkKind& kind, const FleetPodPlacement& fleet, const WorkWrite& write);

// What a hub keeps of a work object: not the objects in it, which may have 512 KiB.
struct StoredWork {
  ClusterWork state;
  std::string cluster;  // the namespace
  std::string name;
  std::string uid;
  std::string resource_version;
  DeletionPolicy deletion_policy = DeletionPolicy::kDelete;
  // The objects are those of the hash, and the rest of the spec is valid.
  bool intact = false;
};

StoredWork StoredWorkOf(const PodPlacementWork& work);

// `works` are the work objects of `fleet` by cluster, as the plan was made on. By cluster name.
//
// A change of deletionPolicy reaches all clusters at once, and before a work object is deleted: the
// deletion follows in the next plan.
std::vector<WorkWrite> WorkWrites(const FleetPodPlacement& fleet, const RolloutPlan& plan,
                                  const std::map<std::string, StoredWork>& works,
                                  kube::WallTime now);

}  // namespace fleet
