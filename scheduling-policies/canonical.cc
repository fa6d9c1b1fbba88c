// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/canonical.h"

#include <algorithm>
#include <vector>

#include "kube/base/json_text.h"

namespace policy {
namespace {

using kube::Json;

bool IsAbsent(const std::string& name, const Json& member) {
  if (member.is_null() || (member.is_array() && member.empty())) return true;
  return name == "matchLabels" && member.is_object() && member.empty();
}

// The depth of `value` is bounded by kube::ParseJson().
void Append(std::string& out, const Json& value) {
  if (value.is_object()) {
    // nlohmann's objects are sorted by name.
    out += '{';
    for (const auto& [name, member] : value.items()) {
      if (IsAbsent(name, member)) continue;
      kube::AppendJsonString(out, name);
      out += ':';
      Append(out, member);
      out += ',';
    }
    out += '}';
  } else if (value.is_array()) {
    std::vector<std::string> items;
    for (const Json& item : value) items.push_back(CanonicalText(item));
    std::sort(items.begin(), items.end());
    items.erase(std::unique(items.begin(), items.end()), items.end());
    out += '[';
    for (const std::string& item : items) out += item + ',';
    out += ']';
  } else if (value.is_string()) {
    kube::AppendJsonString(out, value.get_ref<const std::string&>());
  } else {
    out += kube::DumpJson(value);
  }
}

}  // namespace

std::string CanonicalText(const Json& value) {
  std::string out;
  Append(out, value);
  return out;
}

std::set<std::string> TextsOf(const Json& list) {
  std::set<std::string> texts;
  for (const Json& item : list) texts.insert(CanonicalText(item));
  return texts;
}

}  // namespace policy
