// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/spec_patch.h"

namespace policy {
namespace {

using kube::Json;

std::string Text(const Json& json) { return kube::DumpJson(json); }

}  // namespace

void AddDifference(const Json& before, const Json& after, const std::string& path,
                   kube::JsonPatch& patch) {
  if (before.is_object() && after.is_object()) {
    for (const auto& [name, value] : after.items()) {
      std::string at = path + "/" + kube::PointerToken(name);
      auto found = before.find(name);
      if (found == before.end() || found->is_null()) {
        patch.Add(at, Text(value));
      } else {
        AddDifference(*found, value, at, patch);
      }
    }
  } else if (before.is_array() && after.is_array() && after.size() >= before.size()) {
    for (size_t i = 0; i < before.size(); ++i) {
      if (after[i] != before[i]) patch.Replace(path + "/" + std::to_string(i), Text(after[i]));
    }
    for (size_t i = before.size(); i < after.size(); ++i) patch.Add(path + "/-", Text(after[i]));
  } else if (before != after) {
    patch.Replace(path, Text(after));
  }
}

}  // namespace policy
