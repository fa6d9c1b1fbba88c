// SPDX-License-Identifier: Apache-2.0
// FleetPodPlacement: a ClusterPodPlacementConfig and PodPlacementConfigs for the clusters that the
// Placements of its namespace select.
//
// FromJson() accepts every object, because one refused object would stop the watch of all. What is
// wrong with the spec is listed in `problems`; an object with problems is not rolled out, and what
// the clusters have stays.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/conditions.h"
#include "api/field_error.h"
#include "api/fields.h"
#include "fleet/api/rollout_strategy.h"
#include "kube/base/error.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace fleet {

inline constexpr size_t kMaxRolloutPlacements = 16;
inline constexpr size_t kMaxPodPlacementConfigs = 100;
inline constexpr size_t kMaxTemplateBytes = 64 * 1024;    // of one template, as JSON
inline constexpr size_t kMaxTemplatesBytes = 512 * 1024;  // of all together
inline constexpr size_t kMaxFleetPodPlacementName = 63;   // work_object.h makes names of it
inline constexpr size_t kMaxReportedFailures = 50;
inline constexpr size_t kMaxFailureMessage = 1024;

// The finalizer of a FleetPodPlacement: the hub removes it when no cluster has its objects any
// more, or they are left as the policy says.
inline constexpr std::string_view kFleetFinalizer = "fleet.multiarch.openshift.io/rollout";

// Condition types and their reasons.
inline constexpr std::string_view kAccepted = "Accepted";  // the spec is valid
inline constexpr std::string_view kReasonValid = "Valid";
inline constexpr std::string_view kReasonInvalid = "Invalid";
inline constexpr std::string_view kRolledOut = "RolledOut";  // every chosen cluster succeeded
inline constexpr std::string_view kReasonSucceeded = "Succeeded";
inline constexpr std::string_view kReasonProgressing = "Progressing";
inline constexpr std::string_view kReasonFailed = "Failed";    // none is progressing any more
inline constexpr std::string_view kReasonStopped = "Stopped";  // clusters wait: too many failures
inline constexpr std::string_view kReasonNoDecisions = "NoPlacementDecisions";  // of a Placement
// Of both: a limit of fleet/api/budgets.h.
inline constexpr std::string_view kReasonTooLarge = "TooLarge";

// What happens to the objects in a cluster that is not chosen any more.
enum class DeletionPolicy { kDelete, kOrphan };
std::string_view ToString(DeletionPolicy policy);

struct PlacementRef {
  std::string name;  // of a Placement in the same namespace
  RolloutStrategy strategy;

  bool operator==(const PlacementRef&) const = default;
};

struct FleetPodPlacementSpec {
  // At least one, unless there are problems. A cluster that several Placements select belongs to
  // the first.
  std::vector<PlacementRef> placements;
  // The objects to apply, complete: apiVersion, kind, metadata (name, namespace, labels,
  // annotations) and spec. The ClusterPodPlacementConfig, if any, is the first. At least one,
  // unless there are problems.
  std::vector<kube::Json> objects;
  DeletionPolicy deletion_policy = DeletionPolicy::kDelete;
  // Objects that exist in a cluster and were not applied by this FleetPodPlacement are taken over.
  // Otherwise they are a conflict, and the cluster fails.
  bool adopt = false;
};

// Numbers of clusters. Those that neither have the newest objects nor get them now are the rest of
// `total`; `removing` are not part of it.
struct RolloutCounts {
  int64_t total = 0;  // chosen clusters
  int64_t succeeded = 0;
  int64_t progressing = 0;
  int64_t failed = 0;
  int64_t timed_out = 0;
  int64_t removing = 0;  // not chosen any more, and not clean yet

  bool operator==(const RolloutCounts&) const = default;
  static void Fields(auto& counts, auto& field) {
    constexpr api::Range kNumber{.low = 0};
    field("total", counts.total, kNumber);
    field("succeeded", counts.succeeded, kNumber);
    field("progressing", counts.progressing, kNumber);
    field("failed", counts.failed, kNumber);
    field("timedOut", counts.timed_out, kNumber);
    field("removing", counts.removing, kNumber);
  }
};

struct ClusterFailure {
  std::string cluster;
  std::string reason;  // Failed or TimedOut
  std::string message;

  bool operator==(const ClusterFailure&) const = default;
  static void Fields(auto& failure, auto& field) {
    field("clusterName", failure.cluster, api::kRequired);
    field("reason", failure.reason, api::kRequired);
    field("message", failure.message);
  }
};

struct FleetPodPlacementStatus {
  int64_t observed_generation = 0;
  std::string hash;  // of the objects that are being rolled out
  RolloutCounts clusters;
  std::vector<ClusterFailure> failures;  // the first kMaxReportedFailures by name
  std::vector<api::Condition> conditions;

  bool operator==(const FleetPodPlacementStatus&) const = default;
  static void Fields(auto& status, auto& field) {
    field("observedGeneration", status.observed_generation, api::Range{.low = 0});
    field("hash", status.hash);
    RolloutCounts::Fields(status.clusters, field);
    field("failures", status.failures, api::Items{.max = kMaxReportedFailures});
    field("conditions", status.conditions, api::Items{});
  }
};

struct FleetPodPlacement {
  // kInvalid only if `json` is not a JSON object.
  static kube::Result<FleetPodPlacement> FromJson(const kube::Json& json);

  // Moves spec.objects to `packed`, which needs a tenth of their memory.
  void Pack();
  // spec.objects, also after Pack().
  std::vector<kube::Json> Objects() const;

  std::string ns;
  std::string name;
  std::string uid;
  std::string resource_version;
  int64_t generation = 0;
  bool deleting = false;
  std::vector<std::string> finalizers;
  FleetPodPlacementSpec spec;
  FleetPodPlacementStatus status;
  api::FieldErrors problems;
  std::string hash;        // HashOf() the spec
  bool too_large = false;  // the problem is a limit of fleet/api/budgets.h
  std::string packed;      // CBOR
};

// The hash of what the agent applies: the objects, and whether it adopts. 16 hexadecimal digits.
std::string HashOf(const std::vector<kube::Json>& objects, bool adopt);
inline std::string HashOf(const FleetPodPlacementSpec& spec) {
  return HashOf(spec.objects, spec.adopt);
}

// For patches. The spec is written in the shape that FromJson() reads.
kube::Json SpecToJson(const FleetPodPlacementSpec& spec);
kube::Json StatusToJson(const FleetPodPlacementStatus& status);

inline constexpr kube::Resource kFleetPodPlacements{"multiarch.openshift.io", "v1alpha1",
                                                    "fleetpodplacements", "FleetPodPlacement"};

}  // namespace fleet
