// SPDX-License-Identifier: Apache-2.0
// The requirement: the kubernetes.io/arch expression in a pod's required node affinity, by the
// rules of KEP-3838.
//
// The terms of a required node affinity are ORed, the expressions of a term ANDed: so each term
// without the architecture gets the expression appended, and a term that has it (In, NotIn, Exists,
// DoesNotExist: all the same) is the user's word and stays. A pod without terms gets one. A term
// without any expression matches no node, and the API server refuses to add to it: it stays as it
// is.
#pragma once

#include <string_view>

#include "kube/types/core.pb.h"
#include "placement/architecture.h"

namespace placement {

// After so many failed inspections a pod goes on without their answer.
inline constexpr int kMaxInspectionTries = 5;

enum class RequirementResult {
  kSet,       // expressions were added; label node-affinity: set
  kNowhere,   // so, but with an expression that no node satisfies; label no-supported-arch too
  kKept,      // nothing to add, because it was set before (the label says so)
  kConflict,  // nothing to add: the user says the architecture everywhere; label node-affinity:
              // not-set
};

// False if there is no place for a requirement, so that the images need no inspection:
// kubernetes.io/arch in the node selector, or in every term.
bool NeedsRequirement(const kube::core::Pod& pod);

// Requires one of `architectures`, and labels the pod with them (single-arch or multi-arch, and one
// for each). An empty set is ApplyNoSupportedArchitecture(). Names that are no architecture names
// are left out.
RequirementResult ApplyRequirement(kube::core::Pod& pod, const ArchitectureSet& architectures);

// The images have no architecture in common: requires a node label that no node has, so that the
// pod stays Pending with a reason to be read, rather than crash on some node. Label
// no-supported-arch.
RequirementResult ApplyNoSupportedArchitecture(kube::core::Pod& pod);

// The images could not be inspected: requires `architecture`, which is the value of label
// fallback-arch too; what the images support is unknown, so no label says it.
RequirementResult ApplyFallback(kube::core::Pod& pod, std::string_view architecture);

// After the `tries`-th inspection failed: labels image-inspect-error and image-inspect-error-count,
// and `message` in an annotation (at most 256 bytes of it, in whole characters).
void ApplyInspectionError(kube::core::Pod& pod, std::string_view message, int tries);
// After one that succeeded: takes the error label and annotation away. The count stays, as the
// pod's history.
void ClearInspectionError(kube::core::Pod& pod);
// How many inspections failed according to the pod's labels: 0 for none and for nonsense, at most
// kMaxInspectionTries.
int InspectionTries(const kube::core::Pod& pod);

}  // namespace placement
