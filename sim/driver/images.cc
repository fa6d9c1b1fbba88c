// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/images.h"

namespace sim {

const std::map<std::string, std::set<std::string>>& Images() {
  static const auto& images = *new std::map<std::string, std::set<std::string>>{
      {"r.io/all:1", {"amd64", "arm64", "ppc64le", "s390x"}},
      {"r.io/both:1", {"amd64", "arm64"}},
      {"r.io/arm:1", {"arm64"}},
      {"q.io/intel:1", {"amd64"}},
      {"q.io/z:1", {"s390x"}},
      {"q.io/late:1", {}},
  };
  return images;
}

std::vector<std::string> ImageNames() {
  std::vector<std::string> names;
  for (const auto& [name, architectures] : Images()) names.push_back(name);
  return names;
}

const std::vector<std::string>& RegistryHosts() {
  static const auto& hosts = *new std::vector<std::string>{"q.io", "r.io"};
  return hosts;
}

}  // namespace sim
