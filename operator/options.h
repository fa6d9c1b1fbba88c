// SPDX-License-Identifier: Apache-2.0
// The flags of the program `operator`.
#pragma once

#include <string>

#include "kube/base/error.h"
#include "operator/objects/options.h"

namespace operator_ {

struct OperatorOptions {
  // Without `ns_uid`, which the API server knows.
  OperandOptions operands;
  // Namespaces whose shards are upgraded at the same time; 0: all at once.
  int shard_upgrades = 0;
  // The operator's own webhooks: host:port, and the folder for their certificate.
  std::string address;
  std::string cert_dir;
};

// Errors: kInvalid, with the flag.
kube::Result<OperatorOptions> OptionsFromFlags();

}  // namespace operator_
