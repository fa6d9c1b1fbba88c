// SPDX-License-Identifier: Apache-2.0
// The scope of a fact: the pods that it serves.
//
//   ""                              every pod; the registry tells everybody
//   "*"                             every pod of this cluster; it was learned with the global pull
//                                   secret, or with an identity of the cluster
//   "team-a default registry-key"   it was learned with the pull secrets of a pod: the pods of its
//                                   namespace with the same service account and pull secrets
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace image_facts {

inline constexpr std::string_view kWholeCluster = "*";
constexpr bool IsOfSomePods(std::string_view scope) {
  return !scope.empty() && scope != kWholeCluster;
}

// Longer ones are none.
inline constexpr size_t kMaxScope = 512;

// nullopt without pull secrets, and for names that are not those of objects, or too long.
std::optional<std::string> ScopeOf(const std::string& ns, const std::string& account,
                                   const std::vector<std::string>& pull_secrets);

struct ScopeParts {
  std::string ns;
  std::string account;
  std::vector<std::string> pull_secrets;
};
// Of the result of ScopeOf(); without pull secrets for any other text.
ScopeParts PartsOf(std::string_view scope);

}  // namespace image_facts
