// SPDX-License-Identifier: Apache-2.0
#include "fleet/scheduling/selector.h"

#include <algorithm>
#include <optional>
#include <string_view>

namespace fleet {

Selector::Selector(const kube::meta::LabelSelector& selector) {
  for (const auto& [key, value] : selector.match_labels())
    requirements_.push_back({.key = key, .op = Operator::kIn, .values = {value}});
  for (const kube::meta::LabelSelectorRequirement& expression : selector.match_expressions()) {
    const std::string& op = expression.operator_();
    requirements_.push_back({.key = expression.key(),
                             .op = op == "In"             ? Operator::kIn
                                   : op == "NotIn"        ? Operator::kNotIn
                                   : op == "Exists"       ? Operator::kExists
                                   : op == "DoesNotExist" ? Operator::kDoesNotExist
                                                          : Operator::kUnknown,
                             .values = {expression.values().begin(), expression.values().end()}});
  }
}

bool Selector::Holds(const Requirement& requirement, const Properties& properties) {
  std::optional<std::string_view> value = properties.Find(requirement.key);
  switch (requirement.op) {
    case Operator::kIn:
      return value && requirement.values.find(*value) != requirement.values.end();
    case Operator::kNotIn:
      return !value || requirement.values.find(*value) == requirement.values.end();
    case Operator::kExists:
      return value.has_value();
    case Operator::kDoesNotExist:
      return !value;
    case Operator::kUnknown:
      return false;
  }
  return false;
}

bool Selector::Matches(const Properties& properties) const {
  return std::all_of(requirements_.begin(), requirements_.end(),
                     [&](const Requirement& r) { return Holds(r, properties); });
}

}  // namespace fleet
