// SPDX-License-Identifier: Apache-2.0
// SimulatePod: what would happen to a pod if it was created now, by the operator's own decisions.
// Pure.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "placement/release.h"
#include "plugin/images/pod_image.h"
#include "plugin/pod/cause.h"
#include "plugin/pod/config_lines.h"
#include "plugin/pod/evidence.h"
#include "plugin/pod/node_fit.h"
#include "plugin/simulate/subjects.h"

namespace plugin {

struct Outcome {
  std::string name;  // "Deployment shop/web"
  std::vector<PodImage> images;
  // The gates that the pod would get; empty with a `cause` that says why.
  std::vector<std::string> gates;
  // As it would be released.
  kube::core::Pod pod;
  std::vector<placement::PodEvent> events;
  std::vector<ConfigLine> configs;
  std::vector<PreferenceLine> preferences;
  // nullopt: the nodes may not be read.
  std::optional<FitSummary> nodes;
  // Of a DaemonSet: nodes on which its images cannot run, with their platforms.
  std::vector<std::string> unsupported_nodes;
  // What would keep it from running, or why it would be left alone.
  Cause cause;
  // False: it would not run, or not on all nodes of a DaemonSet, or its images are not known.
  bool would_run = true;
};

// `around`: of the pod's namespace. `images`: of all images of the pod.
Outcome SimulatePod(const Subject& subject, std::shared_ptr<NamespaceEvidence> around,
                    std::vector<PodImage> images);

}  // namespace plugin
