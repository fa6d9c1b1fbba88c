// SPDX-License-Identifier: Apache-2.0
#include "kube/types/resource.h"

#include "kube/base/percent.h"

namespace kube {
namespace {

void AppendEncoded(std::string& path, std::string_view segment) {
  path += '/';
  if (segment == "." || segment == "..") {
    // A proxy would resolve these segments.
    for (size_t i = 0; i < segment.size(); ++i) path += "%2E";
  } else {
    path += PercentEncode(segment);
  }
}

}  // namespace

std::string Resource::ApiVersion() const {
  return group.empty() ? std::string(version) : std::string(group) + "/" + std::string(version);
}

std::string Resource::Path(std::string_view ns, std::string_view name,
                           std::string_view subresource) const {
  std::string path = group.empty() ? "/api/" : "/apis/";
  path += ApiVersion();
  if (namespaced && !ns.empty()) {
    path += "/namespaces";
    AppendEncoded(path, ns);
  }
  AppendEncoded(path, plural);
  if (!name.empty()) AppendEncoded(path, name);
  if (!subresource.empty()) AppendEncoded(path, subresource);
  return path;
}

}  // namespace kube
