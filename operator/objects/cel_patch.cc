// SPDX-License-Identifier: Apache-2.0
#include "operator/objects/cel_patch.h"

#include <utility>

#include "kube/admission/json_patch.h"
#include "operator/objects/pod_conditions.h"

namespace operator_ {

using kube::Json;

std::string AddAt(const std::string& path, const std::string& value) {
  return "JSONPatch{op: 'add', path: " + Quoted(path) + ", value: " + value + "}";
}

std::string RemoveAt(const std::string& path) {
  return "JSONPatch{op: 'remove', path: " + Quoted(path) + "}";
}

// Without exists(), whose time grows with the square of the size (pod_conditions.cc).
std::string HasGate(std::string_view gate) {
  return "(has(object.spec.schedulingGates) && {'name': " + Quoted(gate) +
         "} in object.spec.schedulingGates)";
}

std::string AddGate(std::string_view gate) {
  std::string item = "{'name': " + Quoted(gate) + "}";
  return "(has(object.spec.schedulingGates) ? [" + AddAt("/spec/schedulingGates/-", item) +
         "] : [" + AddAt("/spec/schedulingGates", "[" + item + "]") + "])";
}

std::string SetEntries(const std::string& field, const std::vector<CelEntry>& entries) {
  std::string path = "/metadata/" + field;
  std::string map;
  std::string patches;
  for (const CelEntry& entry : entries) {
    if (!map.empty()) {
      map += ", ";
      patches += ", ";
    }
    map += Quoted(entry.key) + ": " + entry.value;
    patches += AddAt(path + "/" + kube::PointerToken(entry.key), entry.value);
  }
  return "(has(object.metadata." + field + ") ? [" + patches + "] : [" +
         AddAt(path, "{" + map + "}") + "])";
}

Json Variable(const char* name, std::string expression) {
  return {{"name", name}, {"expression", std::move(expression)}};
}

std::string Literal(const Json& json) {
  std::string text;
  auto add = [&](const std::string& item) { text += (text.empty() ? "" : ", ") + item; };
  if (json.is_object()) {
    for (const auto& [key, value] : json.items())
      add(Literal(Json(key)) + ": dyn(" + Literal(value) + ")");
    return "{" + text + "}";
  }
  if (json.is_array()) {
    for (const Json& item : json) add("dyn(" + Literal(item) + ")");
    return "[" + text + "]";
  }
  if (!json.is_string()) return kube::DumpJson(json);
  for (char c : json.get<std::string>()) {
    if (c == '\'' || c == '\\') text += '\\';
    text += c;
  }
  return "'" + text + "'";
}

}  // namespace operator_
