// SPDX-License-Identifier: Apache-2.0
#include "fleet/rollout/work_kind.h"

#include <string>

#include "api/field_error.h"
#include "fleet/api/manifest_work.h"

namespace fleet {
namespace {

using kube::Json;

Json PodPlacementWorkContent(std::string_view, const PodPlacementWorkSpec& spec) {
  Json content;
  content["spec"] = SpecToJson(spec);
  return content;
}

Json PodPlacementWorkPolicy(DeletionPolicy policy) {
  Json patch;
  patch["spec"]["deletionPolicy"] = std::string(ToString(policy));
  return patch;
}

void AcceptAll(FleetPodPlacement&) {}

void CheckManifests(FleetPodPlacement& fleet) {
  if (ManifestsBytes(fleet.spec.objects) <= kMaxManifestsBytes) return;
  fleet.problems.push_back(
      {"spec", "the templates must have at most 500 KiB together, as manifests of a ManifestWork"});
}

}  // namespace

constinit const WorkKind kPodPlacementWorkKind{kPodPlacementWorks, PodPlacementWorkContent,
                                               PodPlacementWorkPolicy, AcceptAll,
                                               PodPlacementWork::FromJson};
constinit const WorkKind kManifestWorkKind{kManifestWorks, ManifestWorkContent, ManifestWorkPolicy,
                                           CheckManifests, WorkFromManifestWork};

const WorkKind* FindWorkKind(std::string_view name) {
  for (const WorkKind* kind : {&kPodPlacementWorkKind, &kManifestWorkKind}) {
    if (kind->resource.kind == name) return kind;
  }
  return nullptr;
}

}  // namespace fleet
