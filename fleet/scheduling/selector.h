// SPDX-License-Identifier: Apache-2.0
// Selector: a label selector that is compared with the labels or claims of many clusters. It has
// the meaning of placement::Matches(), and a long list of values costs no more than a short one.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "fleet/api/properties.h"
#include "kube/types/meta.pb.h"

namespace fleet {

enum class SelectorOperator { kIn, kNotIn, kExists, kDoesNotExist, kUnknown };

SelectorOperator OperatorOf(const std::string& name);
// `exists`: there is a value; `listed`: it is one of the requirement's.
bool Holds(SelectorOperator op, bool exists, bool listed);

class Selector {
 public:
  // An empty selector matches everything, one with an unknown operator nothing.
  explicit Selector(const kube::meta::LabelSelector& selector);

  bool Matches(const Properties& properties) const;

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  struct Requirement {
    std::string key;
    SelectorOperator op = SelectorOperator::kUnknown;
    std::unordered_set<std::string, Hash, std::equal_to<>> values;
  };

  std::vector<Requirement> requirements_;
};

}  // namespace fleet
