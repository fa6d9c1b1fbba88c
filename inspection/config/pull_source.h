// SPDX-License-Identifier: Apache-2.0
// PullSource: one place to read an image from. The configuration of registries turns an image's
// name into one or more of them.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace inspection {

// Settings of a host in containerd's hosts.toml.
struct HostSettings {
  std::string scheme;             // "http" or "https"; empty: https, and http where insecure
  std::string path = "/v2";       // before the repository
  std::string mirrored_registry;  // the registry that this host mirrors, sent as ?ns=
  // Sent with every request; may be secret.
  std::vector<std::pair<std::string, std::string>> headers;

  bool operator==(const HostSettings&) const = default;
};

struct PullSource {
  std::string registry;  // host[:port]
  std::string repository;
  bool insecure = false;  // accepts any certificate, and plain HTTP
  std::string reason;     // why this place is used, for people: "mirror of quay.io"
  HostSettings host;
};

}  // namespace inspection
