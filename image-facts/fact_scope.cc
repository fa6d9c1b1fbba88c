// SPDX-License-Identifier: Apache-2.0
#include "image-facts/fact_scope.h"

#include <sstream>
#include <utility>

#include "kube/types/object_name.h"

namespace image_facts {

std::optional<std::string> ScopeOf(const std::string& ns, const std::string& account,
                                   const std::vector<std::string>& pull_secrets) {
  if (pull_secrets.empty() || !kube::IsObjectName(ns) || !kube::IsObjectName(account))
    return std::nullopt;
  std::string scope = ns + " " + account;
  for (const std::string& secret : pull_secrets) {
    if (!kube::IsObjectName(secret)) return std::nullopt;
    scope += " " + secret;
  }
  return scope.size() <= kMaxScope ? std::optional(std::move(scope)) : std::nullopt;
}

ScopeParts PartsOf(std::string_view scope) {
  std::istringstream words{std::string(scope)};
  ScopeParts parts;
  words >> parts.ns >> parts.account;
  for (std::string secret; words >> secret;) parts.pull_secrets.push_back(std::move(secret));
  return parts;
}

}  // namespace image_facts
