// SPDX-License-Identifier: Apache-2.0
#include "inspection/config/host_match.h"

#include "inspection/base/reference.h"
#include "kube/base/ascii.h"

namespace inspection {
namespace {

// '*' matches any number of characters.
bool PartMatches(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace

HostPort SplitHost(std::string_view authority) {
  size_t from = authority.starts_with('[') ? authority.find(']') : 0;
  size_t colon = authority.find(':', from == std::string_view::npos ? 0 : from);
  std::string host = kube::AsciiLower(authority.substr(0, colon));
  std::string port(colon == std::string_view::npos ? "" : authority.substr(colon + 1));
  if (host == "index.docker.io" || host == "registry-1.docker.io") host = kDockerHub;
  return {std::move(host), std::move(port)};
}

bool HostMatches(std::string_view pattern, std::string_view host) {
  if (pattern.find('*') == std::string_view::npos) return pattern == host;
  while (true) {
    size_t pattern_dot = pattern.find('.');
    size_t host_dot = host.find('.');
    if (!PartMatches(pattern.substr(0, pattern_dot), host.substr(0, host_dot))) return false;
    if ((pattern_dot == std::string_view::npos) != (host_dot == std::string_view::npos))
      return false;
    if (pattern_dot == std::string_view::npos) return true;
    pattern.remove_prefix(pattern_dot + 1);
    host.remove_prefix(host_dot + 1);
  }
}

}  // namespace inspection
