// SPDX-License-Identifier: Apache-2.0
// CelSelectors: the CEL expressions of predicates. An interface, so that scheduling does not depend
// on the interpreter and on what it reads of a cluster.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace fleet {

class CelSelectors {
 public:
  virtual ~CelSelectors() = default;

  // Why `expression` does not compile; nullopt if it does.
  virtual std::optional<std::string> Check(const std::string& expression) = 0;

  struct Verdict {
    bool matches = false;
    std::string error;  // why the evaluation failed, or ""; a failed one does not match
  };
  // Whether all of `expressions`, which compile, are true for `cluster`. The cost is bounded.
  virtual Verdict Matches(const std::vector<std::string>& expressions,
                          const std::string& cluster) = 0;
};

}  // namespace fleet
