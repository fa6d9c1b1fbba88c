// SPDX-License-Identifier: Apache-2.0
// Surroundings: what the causes of many pods depend on, by namespace, from configurations that were
// read once. Pure.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "plugin/pod/evidence.h"

namespace plugin {

class Surroundings {
 public:
  explicit Surroundings(NamespaceEvidence of_all) : of_all_(std::move(of_all)) {}

  // Without what only one namespace's evidence has: policies, nodes, images.
  std::shared_ptr<NamespaceEvidence> Of(const std::string& ns) {
    std::shared_ptr<NamespaceEvidence>& around = by_namespace_[ns];
    if (around != nullptr) return around;
    around = std::make_shared<NamespaceEvidence>();
    around->cluster_config = of_all_.cluster_config;
    around->has_no_cluster_config = of_all_.has_no_cluster_config;
    for (const api::PodPlacementConfig& config : of_all_.configs) {
      if (config.metadata().namespace_() == ns) around->configs.push_back(config);
    }
    return around;
  }

 private:
  NamespaceEvidence of_all_;
  std::map<std::string, std::shared_ptr<NamespaceEvidence>> by_namespace_;
};

}  // namespace plugin
