// SPDX-License-Identifier: Apache-2.0
// PullSource: one place to read an image from, as the configuration of registries makes it of the
// image's name.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace inspection {

// What containerd's hosts.toml may say of a host beyond its name.
struct HostPeculiarities {
  std::string scheme;         // "http" or "https"; empty: https, and http where insecure
  std::string path = "/v2";   // what comes before the repository
  std::string stands_in_for;  // the registry that a mirror is asked to stand in for (?ns=)
  std::vector<std::pair<std::string, std::string>>
      headers;  // sent with every request; may be secret

  bool operator==(const HostPeculiarities&) const = default;
};

struct PullSource {
  std::string registry;  // host[:port]
  std::string repository;
  bool insecure = false;  // any certificate will do, plain HTTP as well
  std::string why;        // "mirror of quay.io", for people
  HostPeculiarities host;
};

}  // namespace inspection
