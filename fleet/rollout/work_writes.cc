// SPDX-License-Identifier: Apache-2.0
#include "fleet/rollout/work_writes.h"

namespace fleet {
namespace {

using kube::Json;
using kube::WallTime;

WorkWrite WriteTo(WorkWrite::Kind kind, const StoredWork& work, WallTime given_at = {}) {
  return {.kind = kind,
          .cluster = work.cluster,
          .name = work.name,
          .uid = work.uid,
          .resource_version = work.resource_version,
          .given_at = given_at};
}

// The spec that a cluster with the newest objects must have.
PodPlacementWorkSpec NewestSpec(const FleetPodPlacement& fleet, WallTime given_at) {
  return {.hash = fleet.hash,
          .given_at = given_at,
          .objects = fleet.Objects(),
          .deletion_policy = fleet.spec.deletion_policy,
          .adopt = fleet.spec.adopt};
}

Json NewObject(const WorkKind& kind, const FleetPodPlacement& fleet, const WorkWrite& write) {
  Json body = {{"apiVersion", kind.resource.ApiVersion()},
               {"kind", std::string(kind.resource.kind)},
               {"metadata",
                {{"name", write.name},
                 {"namespace", write.cluster},
                 {"labels",
                  {{std::string(kWorkNamespaceLabel), fleet.ns},
                   {std::string(kWorkNameLabel), fleet.name}}}}}};
  body.merge_patch(kind.content(write.name, NewestSpec(fleet, write.given_at)));
  return body;
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

Json BodyOf(const WorkKind& kind, const FleetPodPlacement& fleet, const WorkWrite& write) {
  if (write.kind == WorkWrite::Kind::kDelete) return nullptr;
  if (write.kind == WorkWrite::Kind::kCreate) return NewObject(kind, fleet, write);
  Json patch = write.kind == WorkWrite::Kind::kPatch
                   ? kind.content(write.name, NewestSpec(fleet, write.given_at))
                   : kind.policy(fleet.spec.deletion_policy);
  patch["metadata"]["resourceVersion"] = write.resource_version;
  return patch;
}

std::vector<WorkWrite> WorkWrites(const FleetPodPlacement& fleet, const RolloutPlan& plan,
                                  const std::map<std::string, StoredWork>& works, WallTime now) {
  using Kind = WorkWrite::Kind;
  std::vector<WorkWrite> writes;
  for (const auto& [cluster, target] : plan.targets) {
    auto found = works.find(cluster);
    if (found == works.end()) {
      if (target != Target::kNewest) continue;
      writes.push_back({.kind = Kind::kCreate,
                        .cluster = cluster,
                        .name = WorkName(fleet.ns, fleet.name),
                        .given_at = now});
      continue;
    }
    const StoredWork& work = found->second;
    bool same_policy = work.deletion_policy == fleet.spec.deletion_policy;
    if (target == Target::kNewest) {
      bool same_hash = work.state.hash == fleet.hash;
      if (same_hash && work.intact && same_policy) continue;
      // With the newest hash, the time stays; other clients may have changed the rest.
      WallTime given_at = same_hash ? work.state.given_at : now;
      writes.push_back(WriteTo(Kind::kPatch, work, given_at));
    } else if (!same_policy) {
      writes.push_back(WriteTo(Kind::kPatchPolicy, work));
    } else if (target == Target::kRemoved && !work.state.deleting) {
      writes.push_back(WriteTo(Kind::kDelete, work));
    }
  }
  return writes;
}

}  // namespace fleet
