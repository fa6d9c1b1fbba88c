// SPDX-License-Identifier: Apache-2.0
#include "operator/objects/options.h"

#include <algorithm>

#include "api/node_file_flags.h"
#include "kube/base/split.h"

namespace operator_ {
namespace {

// Absolute and normalized, with at least one folder.
bool IsPlainPath(const std::string& path) {
  return path.size() > 1 && path.starts_with('/') && !path.ends_with('/') &&
         path.find("//") == std::string::npos && path.find("/.") == std::string::npos &&
         path.rfind('/') > 0;
}

}  // namespace

kube::Result<std::vector<std::pair<std::string, std::string>>> ParseNodeFiles(
    const std::string& text) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const std::string& part : kube::SplitAtCommas(text)) {
    size_t equals = part.find('=');
    std::string flag = part.substr(0, equals);
    std::string path = equals == std::string::npos ? "" : part.substr(equals + 1);
    if (std::find(api::kNodeFileFlags.begin(), api::kNodeFileFlags.end(), flag) ==
        api::kNodeFileFlags.end()) {
      return kube::Error::Invalid("node files: the cluster controller has no flag " + flag +
                                  " for a file of the node");
    }
    if (!IsPlainPath(path))
      return kube::Error::Invalid("node files: " + flag + " needs the path of a file in a folder");
    files.emplace_back(std::move(flag), std::move(path));
  }
  return files;
}

kube::Result<std::vector<std::pair<std::string, std::string>>> ParseAnnotations(
    const std::string& text) {
  std::vector<std::pair<std::string, std::string>> annotations;
  for (const std::string& part : kube::SplitAtCommas(text)) {
    size_t equals = part.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == part.size())
      return kube::Error::Invalid(part + " is not KEY=VALUE");
    annotations.emplace_back(part.substr(0, equals), part.substr(equals + 1));
  }
  return annotations;
}

}  // namespace operator_
