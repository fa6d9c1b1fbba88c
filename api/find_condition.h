// SPDX-License-Identifier: Apache-2.0
// Conditions of a status, by their type. Of an object as JSON: kube/types/object_fields.h.
#pragma once

#include <string_view>
#include <vector>

#include "api/conditions.h"

namespace api {

// The condition of this type, or nullptr.
inline const Condition* FindCondition(const std::vector<Condition>& conditions,
                                      std::string_view type) {
  for (const Condition& condition : conditions) {
    if (condition.type == type) return &condition;
  }
  return nullptr;
}

// True if the condition of this type exists and has the status "True".
inline bool IsTrue(const std::vector<Condition>& conditions, std::string_view type) {
  const Condition* condition = FindCondition(conditions, type);
  return condition != nullptr && condition->status == "True";
}

}  // namespace api
