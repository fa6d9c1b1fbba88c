// SPDX-License-Identifier: Apache-2.0
#include "fleet/rollout/work_writes.h"

namespace fleet {
namespace {

using kube::Json;
using kube::WallTime;

WorkWrite Create(const WorkKind& kind, const FleetPodPlacement& fleet, const std::string& cluster,
                 const PodPlacementWorkSpec& spec) {
  std::string name = WorkName(fleet.ns, fleet.name);
  Json body = {{"apiVersion", kind.resource.ApiVersion()},
               {"kind", std::string(kind.resource.kind)},
               {"metadata",
                {{"name", name},
                 {"namespace", cluster},
                 {"labels",
                  {{std::string(kWorkNamespaceLabel), fleet.ns},
                   {std::string(kWorkNameLabel), fleet.name}}}}}};
  body.merge_patch(kind.content(name, spec));
  return {.kind = WorkWrite::Kind::kCreate,
          .cluster = cluster,
          .name = std::move(name),
          .body = std::move(body)};
}

WorkWrite Patch(const StoredWork& work, Json change) {
  change["metadata"]["resourceVersion"] = work.resource_version;
  return {.kind = WorkWrite::Kind::kPatch,
          .cluster = work.cluster,
          .name = work.name,
          .uid = work.uid,
          .resource_version = work.resource_version,
          .body = std::move(change)};
}

WorkWrite Delete(const StoredWork& work) {
  return {.kind = WorkWrite::Kind::kDelete,
          .cluster = work.cluster,
          .name = work.name,
          .uid = work.uid,
          .resource_version = work.resource_version};
}

// The spec that a cluster with the newest objects must have.
PodPlacementWorkSpec NewestSpec(const FleetPodPlacement& fleet, const std::string& hash,
                                WallTime given_at) {
  return {.hash = hash,
          .given_at = given_at,
          .objects = fleet.spec.objects,
          .deletion_policy = fleet.spec.deletion_policy,
          .adopt = fleet.spec.adopt};
}

}  // namespace

StoredWork StoredWorkOf(const PodPlacementWork& work) {
  return {.state = WorkOf(work),
          .cluster = work.ns,
          .name = work.name,
          .uid = work.uid,
          .resource_version = work.resource_version,
          .deletion_policy = work.spec.deletion_policy,
          .intact = work.problems.empty() &&
                    HashOf(work.spec.objects, work.spec.adopt) == work.spec.hash};
}

std::vector<WorkWrite> WorkWrites(const WorkKind& kind, const FleetPodPlacement& fleet,
                                  const RolloutPlan& plan,
                                  const std::map<std::string, StoredWork>& works, WallTime now) {
  std::vector<WorkWrite> writes;
  const std::string hash = HashOf(fleet.spec);
  for (const auto& [cluster, target] : plan.targets) {
    auto found = works.find(cluster);
    if (found == works.end()) {
      if (target == Target::kNewest)
        writes.push_back(Create(kind, fleet, cluster, NewestSpec(fleet, hash, now)));
      continue;
    }
    const StoredWork& work = found->second;
    bool same_policy = work.deletion_policy == fleet.spec.deletion_policy;
    if (target == Target::kNewest) {
      bool same_hash = work.state.hash == hash;
      if (same_hash && work.intact && same_policy) continue;
      // With the newest hash, the time stays; other clients may have changed the rest.
      WallTime given_at = same_hash ? work.state.given_at : now;
      writes.push_back(Patch(work, kind.content(work.name, NewestSpec(fleet, hash, given_at))));
    } else if (!same_policy) {
      writes.push_back(Patch(work, kind.policy(fleet.spec.deletion_policy)));
    } else if (target == Target::kRemoved && !work.state.deleting) {
      writes.push_back(Delete(work));
    }
  }
  return writes;
}

}  // namespace fleet
