// SPDX-License-Identifier: Apache-2.0
// ConditionText(): a condition of an object as text, for comparisons.
#pragma once

#include <string>
#include <string_view>

#include "kube/types/object_fields.h"
#include "kube/types/unstructured.h"

namespace fleet {

// "STATUS REASON" of the condition `type`; "" if there is no such condition.
inline std::string ConditionText(const kube::Json& object, std::string_view type) {
  const kube::Json* condition = kube::ConditionOf(object, type);
  if (condition == nullptr) return "";
  return kube::StringAt(*condition, "status") + " " + kube::StringAt(*condition, "reason");
}

}  // namespace fleet
