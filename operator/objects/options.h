// SPDX-License-Identifier: Apache-2.0
// What the command line says about the operands.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kube/base/error.h"

namespace operator_ {

struct OperandOptions {
  // The operator's own namespace, where the cluster's operands run and the CA keys lie, and its
  // UID.
  std::string ns;
  std::string ns_uid;

  std::string webhook_image;
  std::string shard_image;
  std::string controller_image;
  // GOARCH names of the nodes that these images run on.
  std::vector<std::string> architectures;
  // Names of pull secrets for them; each namespace with a shard needs its own Secret of that name.
  std::vector<std::string> image_pull_secrets;

  // Files and folders of the nodes that the cluster's controller reads, by its flag:
  // {"registries-conf", "/etc/..."}. Mounting them needs a namespace that does not enforce the
  // `restricted` standard, so there are none by default.
  std::vector<std::pair<std::string, std::string>> node_files;
};

// "registries-conf=/etc/containers/registries.conf,containerd-certs-dir=/etc/containerd/certs.d" as
// OperandOptions has it. kInvalid for a flag that is none of the controller's for such files, and
// for a path that is not absolute and plain.
kube::Result<std::vector<std::pair<std::string, std::string>>> ParseNodeFiles(
    const std::string& text);

}  // namespace operator_
