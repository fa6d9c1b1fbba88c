// SPDX-License-Identifier: Apache-2.0
// What the command line says about the operands.
#pragma once

#include <string>
#include <vector>

namespace operator_ {

struct OperandOptions {
  // The operator's own namespace, where the cluster's operands run and the CA keys lie, and its UID.
  std::string ns;
  std::string ns_uid;

  std::string webhook_image;
  std::string shard_image;
  std::string controller_image;
  // GOARCH names of the nodes that these images run on.
  std::vector<std::string> architectures;
  // Names of pull secrets for them; each namespace with a shard needs its own Secret of that name.
  std::vector<std::string> image_pull_secrets;
};

}  // namespace operator_
