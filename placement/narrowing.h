// SPDX-License-Identifier: Apache-2.0
// Narrowing: a pod whose requirement was set while it had gates of other controllers is inspected
// again before it is released, as tags may have moved. The API server only lets the required node
// affinity of a gated pod become narrower, so a term gets a further expression if the images have
// lost an architecture, and none if they have gained one.
//
// What an update of a gated pod may change (Kubernetes 1.36, ValidatePodUpdate() in
// pkg/apis/core/validation/validation.go):
//   spec.schedulingGates                 gates may be removed, in any order; none may be added
//   required node affinity               set if there is none; else expressions may be appended to
//                                        a term that has one; terms are not added or removed
//   preferred node affinity              anything
//   spec.nodeSelector                    additions
//   spec.tolerations                     additions, of every pod
// A pod is gated if it had any gate before the update, so the write that removes the last gate may
// change its affinity.
#pragma once

#include "kube/types/core.pb.h"
#include "placement/architecture.h"
#include "placement/platforms.h"
#include "placement/requirement.h"

namespace placement {

// The architectures that ApplyRequirement() required of the pod, of all terms; empty: it has set no
// requirement, or one that no node satisfies.
//
// These are the terms of the record (required_terms.h) with `kubernetes.io/arch In`, and only
// architectures that the labels of the pod name. Terms with an architecture of the author stay as
// they are (I5).
ArchitectureSet RequiredBefore(const kube::core::Pod& pod);

// Restricts what ApplyRequirement() has set to what the images have in common now, and the labels
// with it. kKept: that is no less than before, and nothing was changed. kNowhere: nothing is left
// in any term that was restricted, and the pod gets the label no-supported-arch. kTooLarge: nothing
// was changed.
Requirement NarrowRequirement(kube::core::Pod& pod, const CommonPlatforms& now);

}  // namespace placement
