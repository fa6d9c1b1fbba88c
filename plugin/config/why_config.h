// SPDX-License-Identifier: Apache-2.0
// WhyConfig: the answer to `kubectl placement why config`: which pods a PodPlacementConfig has
// caught, and which it has missed. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kube/types/core.pb.h"
#include "kube/types/unstructured.h"
#include "plugin/pod/evidence.h"
#include "plugin/text/style.h"

namespace plugin {

// Pods about which the same is said: "have its preferences", "it selects app=web".
struct PodGroup {
  std::string what;
  bool caught = false;  // they have something of the config
  size_t count = 0;
  std::vector<std::string> pods;  // the first PodGroups::kMaxNames
};

// All pods of a namespace in groups. Keeps no pod: users choose how many there are.
class PodGroups {
 public:
  static constexpr size_t kMaxNames = 1'000;
  // More become one group.
  static constexpr size_t kMaxGroups = 100;

  // `around` has the config.
  PodGroups(std::string config, std::shared_ptr<NamespaceEvidence> around);

  void Add(const kube::core::Pod& pod);
  size_t pods() const { return pods_; }
  // The caught ones first.
  std::vector<PodGroup> Sorted() const;

 private:
  std::string name_;
  std::shared_ptr<NamespaceEvidence> around_;
  const api::PodPlacementConfig* config_;  // in around_; nullptr if it has none
  size_t pods_ = 0;
  std::map<std::string, PodGroup> groups_;  // by `what`
};

struct ConfigEvidence {
  std::string ns;
  std::string name;
  // Has the config.
  std::shared_ptr<NamespaceEvidence> around;
  PodGroups pods;
};

std::string WhyConfig(const ConfigEvidence& evidence, Style style = {});
kube::Json WhyConfigAsJson(const ConfigEvidence& evidence);

}  // namespace plugin
