// SPDX-License-Identifier: Apache-2.0
// What the ConfigMaps that a ClusterPodPlacementConfig names say about registries. Pure.
#pragma once

#include <string>

#include "inspection/config/inspector_config.h"
#include "kube/types/core.pb.h"

namespace cluster_controller {

// Of spec.registriesConfigMapRef: registries.conf and policy.json replace the files of the node.
void UseRegistries(const kube::core::ConfigMap& map, inspection::InspectorConfig& config);
// Of spec.caBundleConfigMapRef: all its certificates are trusted. The same ConfigMap always gives
// the same text: the inspector drops its caches if it changes.
void TrustBundle(const kube::core::ConfigMap& map, inspection::InspectorConfig& config);

}  // namespace cluster_controller
