// SPDX-License-Identifier: Apache-2.0
// ClusterObjects: what runs in the operator's namespace while there is a ClusterPodPlacementConfig.
// The controller's permissions are not made here: they come with the operator's manifests, so that
// the operator itself need not hold them (it cannot read Secrets of other namespaces, the
// controller must).
#pragma once

#include <string>

#include "operator/objects/desired_object.h"
#include "operator/objects/operand.h"
#include "operator/objects/options.h"

namespace operator_ {

Operand ClusterController(const std::string& log_verbosity, const OperandOptions& options);
Operand ClusterWebhook(const std::string& log_verbosity, const OperandOptions& options);

// In the order in which they are made; removed in the opposite one.
DesiredObjects ClusterObjects(const std::string& log_verbosity, const OperandOptions& options);

// What lets the controller follow the global pull secret `secret`, that one object: its namespace
// is also that of the authorities' keys. Where there is none ("") these objects are to be removed.
DesiredObjects GlobalPullSecretRights(const std::string& secret, const OperandOptions& options);

// Alerts for all operands. For clusters that have the kind; they are told from their Deployments,
// by kube-state-metrics.
DesiredObject ClusterAlerts(const OperandOptions& options);

}  // namespace operator_
