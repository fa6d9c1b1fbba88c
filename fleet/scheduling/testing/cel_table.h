// SPDX-License-Identifier: Apache-2.0
// CelSelectors from a table, for tests of scheduling.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fleet/scheduling/cel_selectors.h"

namespace fleet {

class CelTable : public CelSelectors {
 public:
  // Expression -> the clusters for which it is true. An expression that is not listed does not
  // compile.
  std::map<std::string, std::set<std::string>> true_for;
  // Expression -> the clusters for which its evaluation fails.
  std::map<std::string, std::set<std::string>> fails_for;

  std::optional<std::string> Check(const std::string& expression) override {
    if (true_for.contains(expression)) return std::nullopt;
    return "syntax error in " + expression;
  }
  Verdict Matches(const std::vector<std::string>& expressions,
                  const std::string& cluster) override {
    for (const std::string& expression : expressions) {
      auto fails = fails_for.find(expression);
      if (fails != fails_for.end() && fails->second.contains(cluster))
        return {.error = "no such key in " + expression};
      if (!true_for.at(expression).contains(cluster)) return {};
    }
    return {.matches = true};
  }
};

}  // namespace fleet
