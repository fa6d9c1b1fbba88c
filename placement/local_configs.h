// SPDX-License-Identifier: Apache-2.0
// LocalConfigs: the record of the local webhook on a pod, the annotation local-configs
// ("web,web/large,batch"): the PodPlacementConfigs that gated the pod at its creation, and
// CONFIG/RULE for each rule that matched it. A user can write it as well.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/types/core.pb.h"

namespace placement {

// Bytes of the record. The API server refuses a pod whose annotations have more than 256 KiB; what
// the record has no room for is found out later, as if it had not been evaluated at the creation.
inline constexpr size_t kMaxLocalConfigsSize = 64 * 1024;

// One entry of the record. The views belong to its text.
struct LocalConfig {
  std::string_view config;
  // Empty: the entry names the config alone.
  std::string_view rule;
};

// "CONFIG" or "CONFIG/RULE"; nullopt if one of the names is not valid.
std::optional<LocalConfig> ParseLocalConfig(std::string_view text);

// The valid entries of the pod's record, at most as many as 256 configs with all rules have.
std::vector<LocalConfig> LocalConfigsOf(const kube::core::Pod& pod);

// The names of the configs in the record: each once, at most 256.
std::vector<std::string> GatingConfigs(const kube::core::Pod& pod);

}  // namespace placement
