// SPDX-License-Identifier: Apache-2.0
// Which scheduling policies select a pod, and why others do not. Pure.
#pragma once

#include <string>
#include <vector>

#include "plugin/pod/evidence.h"

namespace plugin {

struct PolicyLine {
  std::string name;  // "PodSchedulingPolicy shop/dedicated"
  bool selects = false;
  std::string text;  // why it does not, or what is wrong with it
};

// Those that select the pod in the order in which they are merged, then the others of its
// namespace, and those of the cluster that are not valid. As they are now: a policy counts for pods
// that are created after it.
std::vector<PolicyLine> DescribePolicies(const PodEvidence& evidence);

}  // namespace plugin
