// SPDX-License-Identifier: Apache-2.0
// Names of OCM's cluster API that objects of a hub carry: group, labels, annotations, condition
// types and reasons.
#pragma once

#include <cstddef>
#include <string_view>

namespace fleet {

inline constexpr std::string_view kGroup = "cluster.open-cluster-management.io";

// Bytes of a name, key or enum value: a label key has at most 317.
inline constexpr size_t kMaxName = 320;

// A label of a ManagedCluster: the name of its exclusive set.
inline constexpr std::string_view kClusterSetLabel =
    "cluster.open-cluster-management.io/clusterset";
// Labels of a PlacementDecision.
inline constexpr std::string_view kPlacementLabel = "cluster.open-cluster-management.io/placement";
inline constexpr std::string_view kDecisionGroupIndexLabel =
    "cluster.open-cluster-management.io/decision-group-index";
inline constexpr std::string_view kDecisionGroupNameLabel =
    "cluster.open-cluster-management.io/decision-group-name";

// An annotation of a Placement: OCM's own controller skips it if the value is "true".
inline constexpr std::string_view kSchedulingDisableAnnotation =
    "cluster.open-cluster-management.io/experimental-scheduling-disable";
// An annotation of a Placement: the name of the scheduler that claims it.
inline constexpr std::string_view kSchedulerAnnotation = "fleet.multiarch.openshift.io/scheduler";
inline constexpr std::string_view kSchedulerName = "multiarch";

// A label of a ManagedClusterSet: with the value kTrusted, what its members publish of image facts
// is shared with all members (fleet/image-facts).
inline constexpr std::string_view kImageFactsLabel = "fleet.multiarch.openshift.io/image-facts";
inline constexpr std::string_view kTrusted = "trusted";

// Taints of a ManagedCluster, and their effects.
inline constexpr std::string_view kUnreachableTaint =
    "cluster.open-cluster-management.io/unreachable";
inline constexpr std::string_view kUnavailableTaint =
    "cluster.open-cluster-management.io/unavailable";
// Not stored: stands for the taints of a cluster that has more than are read. A Placement selects
// the cluster only if it tolerates every taint, or this one.
inline constexpr std::string_view kTooManyTaints = "fleet.multiarch.openshift.io/too-many-taints";
inline constexpr std::string_view kNoSelect = "NoSelect";
inline constexpr std::string_view kPreferNoSelect = "PreferNoSelect";
inline constexpr std::string_view kNoSelectIfNew = "NoSelectIfNew";

// Conditions of a Placement and their reasons.
inline constexpr std::string_view kPlacementMisconfigured = "PlacementMisconfigured";
inline constexpr std::string_view kMisconfigured = "Misconfigured";
inline constexpr std::string_view kSucceedConfigured = "Succeedconfigured";
inline constexpr std::string_view kPlacementSatisfied = "PlacementSatisfied";
inline constexpr std::string_view kNoManagedClusterSetBindings = "NoManagedClusterSetBindings";
inline constexpr std::string_view kNoIntersection = "NoIntersection";
inline constexpr std::string_view kAllManagedClusterSetsEmpty = "AllManagedClusterSetsEmpty";
inline constexpr std::string_view kNoManagedClusterMatched = "NoManagedClusterMatched";
inline constexpr std::string_view kAllDecisionsScheduled = "AllDecisionsScheduled";
inline constexpr std::string_view kNotAllDecisionsScheduled = "NotAllDecisionsScheduled";

// Prioritizers. An add-on score is named "AddOn/RESOURCE/SCORE".
inline constexpr std::string_view kBalance = "Balance";
inline constexpr std::string_view kSteady = "Steady";
inline constexpr std::string_view kResourceAllocatableCpu = "ResourceAllocatableCPU";
inline constexpr std::string_view kResourceAllocatableMemory = "ResourceAllocatableMemory";
inline constexpr std::string_view kSpread = "Spread";
inline constexpr std::string_view kAddOn = "AddOn";

// Filters, in their order.
inline constexpr std::string_view kPredicate = "Predicate";
inline constexpr std::string_view kTaintToleration = "TaintToleration";

// Entries of one PlacementDecision that this hub writes.
inline constexpr size_t kDecisionsPerPage = 100;

}  // namespace fleet
