// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/call_kind.h"

#include <sstream>

namespace kube {

std::string CallKind(const std::string& call) {
  std::istringstream words(call);
  std::string method;
  std::string target;
  words >> method >> target;
  std::istringstream path(target.substr(1, target.find('?') - 1));
  std::vector<std::string> parts;
  for (std::string part; std::getline(path, part, '/');) parts.push_back(part);
  parts.erase(parts.begin(), parts.begin() + (parts[0] == "api" ? 2 : 3));
  if (parts[0] == "namespaces" && parts.size() > 2) parts.erase(parts.begin(), parts.begin() + 2);

  static const std::map<std::string, std::string> kVerbs = {{"POST", "create"},
                                                            {"PUT", "update"},
                                                            {"PATCH", "patch"},
                                                            {"DELETE", "delete"},
                                                            {"WATCH", "watch"}};
  auto verb = kVerbs.find(method);
  std::string kind = verb != kVerbs.end() ? verb->second : parts.size() > 1 ? "get" : "list";
  kind += " " + parts[0];
  if (parts.size() > 2) kind += "/" + parts[2];
  return kind;
}

std::map<std::string, int> CountKinds(const std::vector<std::string>& calls, size_t& begin) {
  std::map<std::string, int> kinds;
  for (; begin < calls.size(); ++begin) ++kinds[CallKind(calls[begin])];
  return kinds;
}

}  // namespace kube
