// SPDX-License-Identifier: Apache-2.0
#include "kube/types/resource.h"

namespace kube {
namespace {

void AppendEncoded(std::string& path, std::string_view segment) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  path += '/';
  // "." and ".." would be resolved by a proxy on the way.
  bool dots = segment == "." || segment == "..";
  for (unsigned char c : segment) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
                 c == '~' || (c == '.' && !dots) || c == ':';
    if (plain) {
      path += static_cast<char>(c);
    } else {
      path += '%';
      path += kHex[c >> 4];
      path += kHex[c & 15];
    }
  }
}

}  // namespace

std::string Resource::ApiVersion() const {
  return group.empty() ? std::string(version) : std::string(group) + "/" + std::string(version);
}

std::string Resource::Path(std::string_view ns, std::string_view name, std::string_view subresource) const {
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
