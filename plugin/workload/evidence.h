// SPDX-License-Identifier: Apache-2.0
// WorkloadEvidence: what a cluster says about a workload and its pods, as far as the user may read
// it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kube/types/core.pb.h"
#include "plugin/pod/evidence.h"

namespace plugin {

struct WorkloadEvidence {
  std::string kind;  // "Deployment"
  std::string ns;
  std::string name;
  // How many pods it is to have; -1: not known.
  int64_t wanted = -1;
  // Of the workload, and of what creates its pods; the oldest first.
  std::vector<kube::core::Event> events;
  // Those that run have no events here.
  std::vector<PodEvidence> pods;
  std::shared_ptr<NamespaceEvidence> around = std::make_shared<NamespaceEvidence>();
};

}  // namespace plugin
