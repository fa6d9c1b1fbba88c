// SPDX-License-Identifier: Apache-2.0
// The cluster controller's flags for files of the node. The operator's --node-files has these names
// as keys, and the operator mounts the files.
#pragma once

#include <array>
#include <string_view>

namespace api {

inline constexpr std::array<std::string_view, 6> kNodeFileFlags = {"registries-conf",
                                                                   "certs-dir",
                                                                   "policy",
                                                                   "containerd-certs-dir",
                                                                   "credential-provider-config",
                                                                   "credential-provider-bin-dir"};

}  // namespace api
