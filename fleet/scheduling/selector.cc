// SPDX-License-Identifier: Apache-2.0
#include "fleet/scheduling/selector.h"

#include <algorithm>
#include <optional>
#include <string_view>

namespace fleet {

SelectorOperator OperatorOf(const std::string& name) {
  if (name == "In") return SelectorOperator::kIn;
  if (name == "NotIn") return SelectorOperator::kNotIn;
  if (name == "Exists") return SelectorOperator::kExists;
  if (name == "DoesNotExist") return SelectorOperator::kDoesNotExist;
  return SelectorOperator::kUnknown;
}

bool Holds(SelectorOperator op, bool exists, bool listed) {
  switch (op) {
    case SelectorOperator::kIn:
      return listed;
    case SelectorOperator::kNotIn:
      return !listed;
    case SelectorOperator::kExists:
      return exists;
    case SelectorOperator::kDoesNotExist:
      return !exists;
    case SelectorOperator::kUnknown:
      return false;
  }
  return false;
}

Selector::Selector(const kube::meta::LabelSelector& selector) {
  for (const auto& [key, value] : selector.match_labels())
    requirements_.push_back({.key = key, .op = SelectorOperator::kIn, .values = {value}});
  for (const kube::meta::LabelSelectorRequirement& expression : selector.match_expressions()) {
    requirements_.push_back({.key = expression.key(),
                             .op = OperatorOf(expression.operator_()),
                             .values = {expression.values().begin(), expression.values().end()}});
  }
}

bool Selector::Matches(const Properties& properties) const {
  return std::all_of(requirements_.begin(), requirements_.end(), [&](const Requirement& r) {
    std::optional<std::string_view> value = properties.Find(r.key);
    return Holds(r.op, value.has_value(), value && r.values.find(*value) != r.values.end());
  });
}

}  // namespace fleet
