// SPDX-License-Identifier: Apache-2.0
// ListAt() and ObjectAt(): lists and maps in untrusted JSON, for loops over them.
//
//   for (const Json& container : kube::ListAt(pod, "spec.containers")) ...
#pragma once

#include <string_view>

#include "kube/types/unstructured.h"

namespace kube {

// The list at a dotted path; an empty one where it is absent or no list.
inline const Json& ListAt(const Json& object, std::string_view dotted_path) {
  static const Json kNone = Json::array();
  const Json* list = Find(object, dotted_path);
  return list != nullptr && list->is_array() ? *list : kNone;
}

// The map at a dotted path; an empty one where it is absent or no map.
inline const Json& ObjectAt(const Json& object, std::string_view dotted_path) {
  static const Json kNone = Json::object();
  const Json* map = Find(object, dotted_path);
  return map != nullptr && map->is_object() ? *map : kNone;
}

}  // namespace kube
