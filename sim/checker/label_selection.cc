// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/label_selection.h"

#include <algorithm>
#include <string>

#include "kube/types/list_at.h"

namespace sim::checker {

bool Selects(const Json& selector, const Json& labels) {
  if (!selector.is_object()) return true;
  for (const auto& [key, value] : kube::ObjectAt(selector, "matchLabels").items()) {
    auto label = labels.find(key);
    if (label == labels.end() || *label != value) return false;
  }
  for (const Json& expression : kube::ListAt(selector, "matchExpressions")) {
    auto label = labels.find(kube::StringAt(expression, "key"));
    const Json& values = kube::ListAt(expression, "values");
    const std::string op = kube::StringAt(expression, "operator");
    bool exists = label != labels.end();
    bool listed = exists && std::find(values.begin(), values.end(), *label) != values.end();
    bool holds = (op == "In" && listed) || (op == "NotIn" && !listed) ||
                 (op == "Exists" && exists) || (op == "DoesNotExist" && !exists);
    if (!holds) return false;
  }
  return true;
}

}  // namespace sim::checker
