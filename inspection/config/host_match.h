// SPDX-License-Identifier: Apache-2.0
// Hosts of registries in keys and patterns of credentials: "quay.io", "quay.io:443",
// "*.example.com".
#pragma once

#include <string>
#include <string_view>

namespace inspection {

struct HostPort {
  std::string host;  // lower case; Docker Hub, whatever it is called, is "docker.io"
  std::string port;  // empty where none is named
};

HostPort SplitHost(std::string_view authority);

// Each '*' of `pattern` stands for any number of characters of one part of the host.
bool HostMatches(std::string_view pattern, std::string_view host);

}  // namespace inspection
