// SPDX-License-Identifier: Apache-2.0
// FairBytes: a budget in bytes for an answer, with a part for each namespace: the objects of one
// tenant cannot hide those of the others. Pure.
#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <string>

namespace plugin {

struct ByteBudget {
  size_t in_all = std::numeric_limits<size_t>::max();
  size_t of_namespace = std::numeric_limits<size_t>::max();
};

class FairBytes {
 public:
  explicit FairBytes(ByteBudget budget) : budget_(budget) {}

  // False, and nothing is taken, if there are fewer left.
  bool Take(const std::string& ns, size_t bytes) {
    size_t& of_namespace = used_[ns];
    if (bytes > budget_.in_all - used_in_all_ || bytes > budget_.of_namespace - of_namespace)
      return false;
    used_in_all_ += bytes;
    of_namespace += bytes;
    return true;
  }

 private:
  ByteBudget budget_;
  size_t used_in_all_ = 0;
  std::map<std::string, size_t> used_;
};

}  // namespace plugin
