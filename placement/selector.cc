// SPDX-License-Identifier: Apache-2.0
#include "placement/selector.h"

#include <algorithm>

namespace placement {

kube::Result<bool> Matches(const kube::meta::LabelSelector& selector, const Labels& labels) {
  bool matches = true;
  for (const auto& [key, value] : selector.match_labels()) {
    auto label = labels.find(key);
    matches &= label != labels.end() && label->second == value;
  }
  // No early return: an unknown operator is an error even if another requirement fails.
  for (const kube::meta::LabelSelectorRequirement& requirement : selector.match_expressions()) {
    auto label = labels.find(requirement.key());
    bool exists = label != labels.end();
    bool listed = exists && std::find(requirement.values().begin(), requirement.values().end(),
                                      label->second) != requirement.values().end();
    const std::string& op = requirement.operator_();
    if (op == "In") {
      matches &= listed;
    } else if (op == "NotIn") {
      matches &= !listed;
    } else if (op == "Exists") {
      matches &= exists;
    } else if (op == "DoesNotExist") {
      matches &= !exists;
    } else {
      return kube::Error::Invalid("label selector operator \"" + op + "\"");
    }
  }
  return matches;
}

}  // namespace placement
