// SPDX-License-Identifier: Apache-2.0
// The cluster controller's flags for files of a node, as the operator mounts them and names them in
// its --node-files.
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
