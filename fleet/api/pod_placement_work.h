// SPDX-License-Identifier: Apache-2.0
// PodPlacementWork: what a FleetPodPlacement gives to one cluster, in the cluster's namespace on
// the hub. The hub writes the spec, the agent of the cluster applies it and answers in the status.
//
// FromJson() accepts every object; what is wrong is listed in `problems`, and an agent that finds
// any applies nothing.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/conditions.h"
#include "api/field_error.h"
#include "api/fields.h"
#include "fleet/api/fleet_pod_placement.h"
#include "kube/base/clock.h"
#include "kube/base/error.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace fleet {

// The agent adds it before it applies the objects, and removes it when they are gone, or are left
// as the policy says. Without an agent, a work object can be deleted.
inline constexpr std::string_view kWorkFinalizer = "fleet.multiarch.openshift.io/applied-objects";

// The labels of a PodPlacementWork: the FleetPodPlacement that it belongs to.
inline constexpr std::string_view kWorkNamespaceLabel = "fleet.multiarch.openshift.io/namespace";
inline constexpr std::string_view kWorkNameLabel = "fleet.multiarch.openshift.io/name";

// The annotation of an applied object: the hash of its work.
inline constexpr std::string_view kWorkHashAnnotation = "fleet.multiarch.openshift.io/work-hash";

inline constexpr size_t kMaxWorkObjects = kMaxPodPlacementConfigs + 1;
inline constexpr size_t kMaxWorkHash = 64;

// The condition of the status: True when every object is applied and the cluster's operator reports
// it as Available. False with a reason: Progressing, Conflict, ApplyFailed, ...
inline constexpr std::string_view kSucceededCondition = "Succeeded";

enum class WorkPhase { kProgressing, kSucceeded, kFailed };
inline constexpr std::array<std::string_view, 3> kWorkPhases = {"Progressing", "Succeeded",
                                                                "Failed"};  // as WorkPhase

struct PodPlacementWorkSpec {
  std::string hash;  // HashOf() the spec that the objects are from
  // When the hub wrote `hash` here.
  kube::WallTime given_at{};
  std::vector<kube::Json> objects;  // see FleetPodPlacementSpec
  DeletionPolicy deletion_policy = DeletionPolicy::kDelete;
  bool adopt = false;
};

struct PodPlacementWorkStatus {
  std::string hash;  // that the rest of the status is about
  std::string phase;
  std::vector<api::Condition> conditions;

  bool operator==(const PodPlacementWorkStatus&) const = default;
  static void Fields(auto& status, auto& field) {
    field("hash", status.hash);
    field("phase", status.phase, api::OneOf{kWorkPhases});
    field("conditions", status.conditions, api::Items{.max = 16});
  }
};

struct PodPlacementWork {
  // kInvalid only if `json` is not a JSON object.
  static kube::Result<PodPlacementWork> FromJson(const kube::Json& json);

  // What the agent answered about `spec.hash`; kProgressing until it does.
  WorkPhase Phase() const;
  // The condition kSucceededCondition, if the agent's answer is about `spec.hash`; else nullptr.
  const api::Condition* Succeeded() const;

  std::string ns;  // the cluster's name
  std::string name;
  std::string uid;
  std::string resource_version;
  std::string owner_ns;    // of the FleetPodPlacement, by the labels
  std::string owner_name;  // of the FleetPodPlacement
  bool deleting = false;
  bool has_finalizer = false;
  PodPlacementWorkSpec spec;
  PodPlacementWorkStatus status;
  api::FieldErrors problems;
};

// A work with the metadata of `json`, a JSON object, and nothing else. `finalizer`: its agent's.
PodPlacementWork WorkWithMetadataOf(const kube::Json& json, std::string_view finalizer);

// "team.web": the name of the work objects of the FleetPodPlacement `name` in `ns`.
std::string WorkName(std::string_view ns, std::string_view name);

kube::Json SpecToJson(const PodPlacementWorkSpec& spec);
kube::Json StatusToJson(const PodPlacementWorkStatus& status);

inline constexpr kube::Resource kPodPlacementWorks{"multiarch.openshift.io", "v1alpha1",
                                                   "podplacementworks", "PodPlacementWork"};

}  // namespace fleet
