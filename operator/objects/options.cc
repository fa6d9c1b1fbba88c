// SPDX-License-Identifier: Apache-2.0
#include "operator/objects/options.h"

#include <algorithm>
#include <array>
#include <sstream>

namespace operator_ {
namespace {

constexpr std::array<std::string_view, 6> kFlags = {"registries-conf",           "certs-dir",
                                                    "policy",                    "containerd-certs-dir",
                                                    "credential-provider-config", "credential-provider-bin-dir"};

// Absolute, without anything that leads elsewhere.
bool IsPlainPath(const std::string& path) {
  return path.size() > 1 && path.starts_with('/') && !path.ends_with('/') && path.find("//") == std::string::npos &&
         path.find("/.") == std::string::npos && path.rfind('/') > 0;
}

}  // namespace

kube::Result<std::vector<std::pair<std::string, std::string>>> ParseNodeFiles(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> files;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) {
    size_t equals = part.find('=');
    std::string flag = part.substr(0, equals);
    std::string path = equals == std::string::npos ? "" : part.substr(equals + 1);
    if (std::find(kFlags.begin(), kFlags.end(), flag) == kFlags.end()) {
      return kube::Error::Invalid("node files: " + flag + " is no flag of the cluster controller for them");
    }
    if (!IsPlainPath(path)) return kube::Error::Invalid("node files: " + flag + " needs the path of a file in a folder");
    files.emplace_back(std::move(flag), std::move(path));
  }
  return files;
}

}  // namespace operator_
