// SPDX-License-Identifier: Apache-2.0
// HostMatch: hosts of registries in the keys of credentials and in patterns: "quay.io",
// "quay.io:443", "*.example.com".
#pragma once

#include <string>
#include <string_view>

namespace inspection {

struct HostPort {
  std::string host;  // lower case; "docker.io" for all names of Docker Hub
  std::string port;  // empty for none
};

HostPort SplitHost(std::string_view authority);

// Each '*' of `pattern` matches any number of characters within one part of the host.
bool HostMatches(std::string_view pattern, std::string_view host);

}  // namespace inspection
