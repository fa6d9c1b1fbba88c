// SPDX-License-Identifier: Apache-2.0
// Reads what configures placement, with the user's rights. Thread: the client's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "api/pod_placement_config.h"
#include "kube/base/async.h"
#include "kube/client/client.h"
#include "plugin/pod/evidence.h"

namespace plugin {

struct Configurations {
  // nullopt: not read, or absent.
  std::optional<api::ClusterPodPlacementConfig> cluster;
  bool has_no_cluster = false;  // it was read, and there is none
  std::vector<api::PodPlacementConfig> of_namespace;
};

// `ns`: "" for all. What may not be read is added to `unread`, which outlives the call. Errors:
// never.
kube::Async<Configurations> ReadConfigurations(kube::Client& client, std::string ns,
                                               std::vector<Unread>& unread);

}  // namespace plugin
