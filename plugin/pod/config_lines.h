// SPDX-License-Identifier: Apache-2.0
// What each configuration has given a pod, or why it has given nothing. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugin/pod/evidence.h"

namespace plugin {

// One preference that a configuration has for the pod.
struct PreferenceLine {
  std::string architecture;
  int32_t weight = 0;
  std::string source;  // "PodPlacementConfig web, rule large"
  // Who has set a preference for this architecture instead; "" if the pod has this one.
  std::string lost_to;
};
// In the order in which they were decided, as the pod's record has them.
std::vector<PreferenceLine> DescribePreferences(const kube::core::Pod& pod);

struct ConfigLine {
  std::string name;
  int32_t priority = 0;
  bool selects = false;
  // "rules large, gpu match"; why it does not select the pod: "it selects app=web".
  std::string text;
};
// Of each PodPlacementConfig of the namespace, by descending priority, as they are now.
std::vector<ConfigLine> DescribeConfigs(const PodEvidence& evidence);

// "app=web,tier in (a,b)"; "all pods" for one without requirements.
std::string DescribeSelector(const kube::meta::LabelSelector& selector);

}  // namespace plugin
