// SPDX-License-Identifier: Apache-2.0
// Which nodes may run a pod, and what keeps the pod from the others. Pure. Free resources, ports
// and volumes are the scheduler's matter.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "kube/types/core.pb.h"
#include "placement/node_match.h"

namespace plugin {

enum class Misfit {
  kNone,
  kArchitecture,  // what the pod requires of kubernetes.io/arch
  kLabels,        // its node selector or affinity, otherwise
  kTaint,         // one that it does not tolerate
};

struct NodeFit {
  Misfit misfit = Misfit::kNone;
  // "its architecture is amd64"; "" if it fits.
  std::string why;
};

NodeFit FitOf(const kube::core::PodSpec& spec, const placement::NodeView& node);

struct FitSummary {
  size_t fitting = 0;
  // The names of the others by what keeps the pod away: "its architecture is amd64".
  std::map<Misfit, std::map<std::string, std::vector<std::string>>> others;
};

FitSummary Summarize(const kube::core::PodSpec& spec, std::span<const placement::NodeView> nodes);

}  // namespace plugin
