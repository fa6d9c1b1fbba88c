// SPDX-License-Identifier: Apache-2.0
// What the validating webhooks refuse or warn of, as pure functions. No errors: the object is
// admitted.
//
// What the CRDs' schemas refuse is refused here as well: the cluster may have an older CRD, and
// these messages are clearer. An update is checked only for what it changes, and an object that is
// being deleted not at all: otherwise an older object or the deletion of a namespace could be
// blocked.
#pragma once

#include <string>
#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "api/field_error.h"
#include "api/pod_placement_config.h"

namespace api {

using PodPlacementConfigs = std::vector<const PodPlacementConfig*>;

// `existing`: the PodPlacementConfigs of the same namespace, with or without `config` itself.
// `cluster_config_exists`: a ClusterPodPlacementConfig exists and is not being deleted.
FieldErrors ValidateCreate(const PodPlacementConfig& config, const PodPlacementConfigs& existing,
                           bool cluster_config_exists);
FieldErrors ValidateUpdate(const PodPlacementConfig& old_config, const PodPlacementConfig& config,
                           const PodPlacementConfigs& existing);

FieldErrors ValidateCreate(const ClusterPodPlacementConfig& config);
FieldErrors ValidateUpdate(const ClusterPodPlacementConfig& old_config,
                           const ClusterPodPlacementConfig& config);
// `existing`: some PodPlacementConfigs of all namespaces; empty only if there are none.
FieldErrors ValidateDelete(const ClusterPodPlacementConfig& config,
                           const PodPlacementConfigs& existing);

// The preference of the cluster that is heavier than all of `config`, for an architecture that
// `config` does not name: then its pods do not prefer what it says. nullptr if there is none.
const Platform* OutweighedBy(const PodPlacementConfig& config,
                             const ClusterPodPlacementConfig& cluster_config);

// A warning that names the architectures of `config` that are not known (architecture.h), at most
// 256 characters; "" if there are none. Such a name can be a spelling mistake: no node has it.
std::string WarningOfUnknownArchitectures(const PodPlacementConfig& config);
std::string WarningOfUnknownArchitectures(const ClusterPodPlacementConfig& config);

// The order in which the configs of a namespace are applied: by descending priority, then by age
// with the oldest first, then by name. A config without a creation time is not stored yet and the
// youngest.
bool Precedes(const PodPlacementConfig& a, const PodPlacementConfig& b);

// The oldest other config of `existing` with `config`'s priority that precedes it, or nullptr. Two
// creates can pass the webhook at the same time: the younger config is then not applied, and its
// status names this one.
const PodPlacementConfig* PriorityHolder(const PodPlacementConfig& config,
                                         const PodPlacementConfigs& existing);

// The configs of a namespace that are applied, in order: all without a PriorityHolder(). Gating and
// placement both use this list.
PodPlacementConfigs InForce(PodPlacementConfigs existing);

}  // namespace api
