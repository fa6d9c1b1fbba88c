// SPDX-License-Identifier: Apache-2.0
// WarningObjects: the webhook of ephemeral containers in the operator's namespace, and which
// requests the API server sends to it. Its rights are in operator/manifests.
#pragma once

#include <string>

#include "api/cluster_pod_placement_config.h"
#include "kube/types/unstructured.h"
#include "operator/objects/desired_object.h"
#include "operator/objects/options.h"

namespace operator_ {

// In the order of creation. The Secret with the certificate comes from
// operator/certificates/operand_certificate.h.
DesiredObjects WarningObjects(const OperandOptions& options);

// The ValidatingWebhookConfiguration: a request that adds an ephemeral container to a pod with a
// node, in the namespaces whose pods may be gated. A failure of the webhook never blocks one.
// `path`: a PathOf().
DesiredObject WarningConfiguration(const api::ClusterPodPlacementConfig& config,
                                   const std::string& path, const std::string& ca_bundle_pem,
                                   const OperandOptions& options);

}  // namespace operator_
