// SPDX-License-Identifier: Apache-2.0
// Questions: what a pass for a Placement asked about CEL and what is not known yet.
#pragma once

#include <set>
#include <string>

namespace fleet::cel {

struct Questions {
  std::string ns;                     // of the Placement
  std::set<std::string> expressions;  // whether they compile
  std::set<std::string> clusters;     // whether they match the selectors of the namespace

  bool empty() const { return expressions.empty() && clusters.empty(); }
};

}  // namespace fleet::cel
