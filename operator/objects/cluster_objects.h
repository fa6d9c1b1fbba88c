// SPDX-License-Identifier: Apache-2.0
// ClusterObjects: the operands in the operator's namespace while a ClusterPodPlacementConfig
// exists. The controller's permissions are part of the operator's manifests, so the operator need
// not hold them: the controller reads Secrets of all namespaces, the operator cannot.
#pragma once

#include <string>

#include "api/cluster_pod_placement_config.h"
#include "api/templates.h"
#include "operator/objects/desired_object.h"
#include "operator/objects/options.h"

namespace operator_ {

// The webhook may place pods whose images are known (api/known_images.h).
bool PlacesKnownImages(const api::ClusterPodPlacementConfigSpec& spec);

// In the order of creation.
DesiredObjects ClusterObjects(const api::ClusterPodPlacementConfigSpec& spec,
                              const OperandOptions& options);

// The controller's permission to watch the global pull secret `secret` alone, as the namespace also
// has the keys of the authorities. With "" these objects have to be removed.
DesiredObjects GlobalPullSecretRights(const std::string& secret, const OperandOptions& options);

// The controller's permissions for Jobs and DaemonSets: bindings of ClusterRoles of the operator's
// manifests. Those that no plugin needs are not wanted.
DesiredObjects TemplateRights(const api::TemplatesPlugin& templates,
                              const api::DaemonSetsPlugin& daemon_sets,
                              const OperandOptions& options);

}  // namespace operator_
