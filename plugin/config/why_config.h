// SPDX-License-Identifier: Apache-2.0
// WhyConfig: the answer to `kubectl placement why config`: which pods a PodPlacementConfig has
// caught, and which it has missed. Pure.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kube/types/core.pb.h"
#include "kube/types/unstructured.h"
#include "plugin/pod/evidence.h"
#include "plugin/text/style.h"

namespace plugin {

struct ConfigEvidence {
  std::string ns;
  std::string name;
  // Has the config.
  std::shared_ptr<NamespaceEvidence> around;
  std::vector<kube::core::Pod> pods;  // of the namespace
};

// Pods about which the same is said: "have its preferences", "it selects app=web".
struct PodGroup {
  std::string what;
  bool caught = false;  // they have something of the config
  std::vector<std::string> pods;
};

// The caught ones first.
std::vector<PodGroup> GroupPods(const ConfigEvidence& evidence);

std::string WhyConfig(const ConfigEvidence& evidence, Style style = {});
kube::Json WhyConfigAsJson(const ConfigEvidence& evidence);

}  // namespace plugin
