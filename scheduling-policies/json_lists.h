// SPDX-License-Identifier: Apache-2.0
// Lists in a pod spec that may be absent.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "kube/types/unstructured.h"
#include "scheduling-policies/canonical.h"

namespace policy {

// The list at a dotted path; an empty one where it is absent or no list.
inline const kube::Json& ListAt(const kube::Json& parent, std::string_view path) {
  static const kube::Json kNone = kube::Json::array();
  const kube::Json* list = kube::Find(parent, path);
  return list != nullptr && list->is_array() ? *list : kNone;
}

// The CanonicalText() of each item.
inline std::set<std::string> TextsOf(const kube::Json& list) {
  std::set<std::string> texts;
  for (const kube::Json& item : list) texts.insert(CanonicalText(item));
  return texts;
}

}  // namespace policy
