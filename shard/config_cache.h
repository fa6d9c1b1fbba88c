// SPDX-License-Identifier: Apache-2.0
// ConfigCache: the PodPlacementConfigs of the namespace, decoded and at hand, so that a pod costs no parsing.
//
// The webhook can be ahead of the watch: a pod may name a config (annotation local-configs) that has not come in yet.
// Learn() reads what is missing from the API server before the pod is decided on, so no preference is lost by a race.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/pod_placement_config.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/cache/reflector.h"
#include "kube/client/client.h"
#include "placement/configs.h"

namespace shard {

class ConfigCache {
 public:
  // `client` and `clock` outlive the cache. `ns` is the shard's namespace.
  ConfigCache(kube::Client& client, kube::Clock& clock, std::string ns);

  // What the watch tells.
  void OnEvent(kube::EventType type, const api::PodPlacementConfig& config);

  // Makes sure that those of `names` that exist are known: at most one call, and none if all are. Names that the API
  // server does not have are not asked for again for a second.
  // Errors: the call's.
  kube::Async<> Learn(std::vector<std::string> names);

  // All that are known; the pointers are good until the cache changes, so use them at once.
  placement::Configs All() const;

 private:
  struct Learned {
    kube::TimePoint at;
    // nullopt: there was none.
    std::optional<api::PodPlacementConfig> config;
  };
  bool Knows(const std::string& name) const;
  void Remember(const std::string& name, std::optional<api::PodPlacementConfig> config);

  kube::Client& client_;
  kube::Clock& clock_;
  std::string ns_;
  std::map<std::string, api::PodPlacementConfig> watched_;
  // Read live, until the watch tells of it or it is old.
  std::map<std::string, Learned> learned_;
};

}  // namespace shard
