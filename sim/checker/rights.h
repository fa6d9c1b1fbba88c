// SPDX-License-Identifier: Apache-2.0
// I6: which program writes what, in which namespace. The table is what SECURITY.md and
// docs/operations.md say, with the names of the objects; the roles in the cluster are not asked.
#pragma once

#include <map>
#include <string>

#include "sim/checker/violation.h"
#include "sim/checker/writer.h"

namespace sim::checker {

class RightsRule {
 public:
  explicit RightsRule(const Facts& facts) : facts_(facts) {}

  void Check(const Commit& commit, const Writer& writer, Violations& violations);

 private:
  void CheckConfig(const Commit& commit, Violations& violations);
  // Two namespaces never share the authority of their webhooks.
  void CheckAuthority(const Commit& commit, Violations& violations);
  bool IsBound(std::string_view role, Time at) const;

  const Facts& facts_;
  // The ClusterRoleBindings of plugins: since when they are deleted; Time::max() while they exist.
  std::map<std::string, Time, std::less<>> bindings_;
  // ca.crt of a shard's Secret -> its namespace.
  std::map<std::string, std::string> authorities_;
};

}  // namespace sim::checker
