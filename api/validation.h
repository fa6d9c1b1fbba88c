// SPDX-License-Identifier: Apache-2.0
// What the validating webhooks refuse, as pure functions. An empty answer admits the object.
//
// What the CRDs' own schemas refuse is refused here again: the CRD installed may be another one,
// and the words are better. Updates are only held to what they change, and objects being deleted to
// nothing, so that neither an older object nor a namespace's deletion gets stuck.
#pragma once

#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "api/field_error.h"
#include "api/pod_placement_config.h"

namespace api {

using PodPlacementConfigs = std::vector<const PodPlacementConfig*>;

// `existing`: the PodPlacementConfigs of the same namespace; `config` itself may be among them.
// `cluster_config_exists`: there is a ClusterPodPlacementConfig, and it is not being deleted.
FieldErrors ValidateCreate(const PodPlacementConfig& config, const PodPlacementConfigs& existing,
                           bool cluster_config_exists);
FieldErrors ValidateUpdate(const PodPlacementConfig& old_config, const PodPlacementConfig& config,
                           const PodPlacementConfigs& existing);

FieldErrors ValidateCreate(const ClusterPodPlacementConfig& config);
FieldErrors ValidateUpdate(const ClusterPodPlacementConfig& old_config,
                           const ClusterPodPlacementConfig& config);
// `existing`: the PodPlacementConfigs of all namespaces.
FieldErrors ValidateDelete(const ClusterPodPlacementConfig& config,
                           const PodPlacementConfigs& existing);

// The order in which configs of one namespace are applied: higher priority first; of two with one
// priority the older, then the one whose name sorts first. A config without a creation time (not
// stored yet) is the youngest.
bool Precedes(const PodPlacementConfig& a, const PodPlacementConfig& b);

// The config of `existing` that had `config`'s priority before it, or nullptr. Creates that race
// past the webhook end so: the younger ones' status says so, and names this one.
const PodPlacementConfig* PriorityHolder(const PodPlacementConfig& config,
                                         const PodPlacementConfigs& existing);

// The configs of one namespace that are applied, in the order in which they are: all but those with
// a PriorityHolder(). Who applies configs or gates pods for them goes by this.
PodPlacementConfigs InForce(PodPlacementConfigs existing);

}  // namespace api
