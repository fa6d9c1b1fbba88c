// SPDX-License-Identifier: Apache-2.0
#include "operator/status/condition_of.h"

namespace operator_ {

using kube::Json;

const Json* ConditionOf(const Json& object, std::string_view type) {
  const Json* conditions = kube::Find(object, "status.conditions");
  if (conditions == nullptr || !conditions->is_array()) return nullptr;
  for (const Json& condition : *conditions) {
    if (kube::StringAt(condition, "type") == type) return &condition;
  }
  return nullptr;
}

}  // namespace operator_
