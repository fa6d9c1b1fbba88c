// SPDX-License-Identifier: Apache-2.0
// SimulateConfig: which workloads a PodPlacementConfig would select, and what their new pods would
// get. Pure.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/pod_placement_config.h"
#include "plugin/pod/evidence.h"
#include "plugin/simulate/subjects.h"

namespace plugin {

// The namespace as it would be with `config`, in place of a stored one of the same name.
std::shared_ptr<NamespaceEvidence> WithConfig(const api::PodPlacementConfig& config,
                                              const NamespaceEvidence& around);

struct SelectedWorkload {
  std::string name;  // "Deployment shop/web"
  // What the pods prefer: "arm64 75, amd64 50"; "" for nothing.
  std::string before;
  std::string after;
};

struct ConfigOutcome {
  std::string name;  // "PodPlacementConfig shop/web"
  // Why the webhook would refuse it, or what it would warn of; "" for nothing.
  std::string problem;
  std::vector<SelectedWorkload> selected;
  // With the reason.
  std::vector<std::string> others;
};

// `around`: of the config's namespace. `workloads`: of the same.
ConfigOutcome SimulateConfig(const api::PodPlacementConfig& config, const NamespaceEvidence& around,
                             const std::vector<Subject>& workloads);

}  // namespace plugin
