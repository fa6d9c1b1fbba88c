// SPDX-License-Identifier: Apache-2.0
// The parts that several answers have in common, for people, with a line end, and as JSON. Pure.
#pragma once

#include <string>
#include <vector>

#include "kube/types/core.pb.h"
#include "kube/types/unstructured.h"
#include "plugin/images/pod_image.h"
#include "plugin/pod/cause.h"
#include "plugin/pod/config_lines.h"
#include "plugin/pod/evidence.h"
#include "plugin/pod/node_fit.h"
#include "plugin/pod/policy_lines.h"
#include "plugin/text/style.h"

namespace plugin {

// The lines "why" and, if something is to be done, "next".
std::string Say(const Cause& cause, Style style = {});
kube::Json AsJson(const Cause& cause);

// A line for each part.
std::string Say(const std::vector<Unread>& unread, Style style = {});
kube::Json AsJson(const std::vector<Unread>& unread);

// A line for each image.
std::string Say(const std::vector<PodImage>& images, Style style = {});
kube::Json AsJson(const std::vector<PodImage>& images);

// The architectures that the pod requires; "" if it requires none.
std::string SayRequirement(const kube::core::Pod& pod, Style style = {});

// A line for each.
std::string Say(const std::vector<PreferenceLine>& preferences, Style style = {});
kube::Json AsJson(const std::vector<PreferenceLine>& preferences);
std::string Say(const std::vector<ConfigLine>& configs, Style style = {});
kube::Json AsJson(const std::vector<ConfigLine>& configs);

// A line for each.
std::string Say(const std::vector<PolicyLine>& policies, Style style = {});
kube::Json AsJson(const std::vector<PolicyLine>& policies);

// How many nodes fit, and why others do not.
std::string Say(const FitSummary& nodes, Style style = {});
kube::Json AsJson(const FitSummary& nodes);

}  // namespace plugin
