// SPDX-License-Identifier: Apache-2.0
// The requirement: the kubernetes.io/arch expression in a pod's required node affinity, by the
// rules of KEP-3838.
//
// The terms of a required node affinity are ORed, the expressions of a term ANDed. Each term
// without an expression on the architecture gets one appended; a term that has one, with any
// operator, is the user's choice and is unchanged. A pod without terms gets one. A term without any
// expression matches no node, and the API server refuses additions to it: it is unchanged.
//
// The architectures of a term are those of its operating systems, which the term, the node selector
// and spec.os name; linux if none of them does. A term gets an expression on kubernetes.io/os too
// if
//   - it names no system, and the images are for another one than linux
//   - it names a system that the images are not for
//   - it names several, on which the images have no architecture in common
// and one on node.kubernetes.io/windows-build if it only allows Windows and the images need certain
// builds (platforms.h), and one on the label of node-feature-discovery for a level of x86-64, if
// the images need one on amd64. As that label is for amd64 alone, amd64 gets a term of its own
// beside other architectures; in the user's terms, to which none can be added, amd64 is left out
// there.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "kube/types/core.pb.h"
#include "placement/architecture.h"
#include "placement/platforms.h"

namespace placement {

enum class RequirementResult {
  kSet,       // expressions were added; label node-affinity: set
  kNowhere,   // as kSet, but no node satisfies the expression; also label no-supported-arch
  kKept,      // nothing to add: it was set before, as the label shows
  kConflict,  // nothing to add: the user constrains every term; label node-affinity: not-set
  kTooLarge,  // nothing added: it would be more than 1 MiB; label node-affinity: not-set
};

// Whether a requirement can be added to a term: not to one with an expression on the architecture,
// and not to one without any expression.
bool TakesRequirement(const kube::core::NodeSelectorTerm& term);

// False if kubernetes.io/arch is in the node selector or in every term: no requirement can be
// added, and the images need no inspection.
bool NeedsRequirement(const kube::core::Pod& pod);

struct Requirement {
  RequirementResult result = RequirementResult::kKept;
  // kSet: all that were required, of all terms.
  ArchitectureSet architectures = {};
  std::set<std::string> operating_systems = {};
  // kSet: of x86-64, on nodes of amd64; 0: any.
  int amd64_level = 0;
  // amd64 is left out in a term of the user, because of the level that the images need.
  bool amd64_left_out = false;
};

// Requires one of the architectures that the images have in common, and sets the labels:
// single-arch or multi-arch, and one for each. Skips names that are not architecture names. A term
// in which the images can run nowhere requires a node label that no node has. If all terms are such
// (kNowhere), the pod stays Pending with a reason, instead of crashing on a node, and gets the
// label no-supported-arch.
Requirement ApplyRequirement(kube::core::Pod& pod, const CommonPlatforms& common);

// For events, what was required (kSet): "amd64, arm64; of amd64, nodes with the label
// feature.node.kubernetes.io/cpu-cpuid.X86_64_V3".
std::string DescribeRequirement(const Requirement& required);

// The labels about `required`; none if it is kKept or kConflict.
void SetRequirementLabels(kube::core::Pod& pod, const Requirement& required);

// The images could not be inspected: requires `architecture` and sets the label fallback-arch to
// it. Sets no label for the supported architectures, which are unknown.
RequirementResult ApplyFallback(kube::core::Pod& pod, std::string_view architecture);

// After `tries` failed attempts: sets the labels image-inspect-error and image-inspect-error-count,
// and an annotation with `message` (at most 256 bytes, in whole characters).
void ApplyInspectionError(kube::core::Pod& pod, std::string_view message, int tries);
// After a successful attempt: removes the error label and annotation. The count stays as history.
void ClearInspectionError(kube::core::Pod& pod);
// The number of failed attempts in the pod's label: 0 if absent or invalid, at most `limit`.
int InspectionTries(const kube::core::Pod& pod, int limit);

}  // namespace placement
