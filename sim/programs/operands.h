// SPDX-License-Identifier: Apache-2.0
// Operands: which program the pod of an operand or of the operator runs, by its container: its name
// is that of the operand, its arguments are the program's flags.
#pragma once

#include "sim/base/process.h"
#include "sim/cluster/api_client.h"
#include "sim/cluster/deployments.h"
#include "sim/cluster/registries.h"
#include "sim/cluster/secret_files.h"
#include "sim/cluster/services.h"

namespace sim {

// What the programs use; outlives their processes.
struct OperandWorld {
  Registries& registries;
  SecretFiles& secret_files;
  Services& services;
};

// "shard/NAMESPACE/POD", with the pod's ServiceAccount.
ClientIdentity IdentityOf(const PodPlan& pod);

// An operand without a program in sim/ ends the simulation: it has to be added here.
Process::Main MainOf(const PodPlan& pod, OperandWorld world);

}  // namespace sim
