// SPDX-License-Identifier: Apache-2.0
// ConditionOf(): a condition of an object as text, for comparisons.
#pragma once

#include <string>
#include <string_view>

#include "fleet/api/reading.h"
#include "kube/types/unstructured.h"

namespace fleet {

// "STATUS REASON" of the condition `type`; "" if there is no such condition.
inline std::string ConditionOf(const kube::Json& object, std::string_view type) {
  for (const kube::Json& condition : ListOrEmpty(object, "status.conditions")) {
    if (kube::StringAt(condition, "type") == type)
      return kube::StringAt(condition, "status") + " " + kube::StringAt(condition, "reason");
  }
  return "";
}

}  // namespace fleet
