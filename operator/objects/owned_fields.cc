// SPDX-License-Identifier: Apache-2.0
#include "operator/objects/owned_fields.h"

#include <map>
#include <string>
#include <utility>

#include "kube/types/list_at.h"

namespace operator_ {

using kube::Json;

namespace {

Json Extract(const Json& value, const Json& fields);

Json ExtractObject(const Json& value, const Json& fields) {
  Json owned = Json::object();
  for (const auto& [path, inner] : fields.items()) {
    if (!path.starts_with("f:")) continue;
    auto field = value.find(path.substr(2));
    if (field != value.end()) owned[field.key()] = Extract(*field, inner);
  }
  return owned;
}

std::string Text(const Json& value) { return kube::DumpJson(value); }

// `element` reduced to the fields that `key` has: its key among the elements of a list.
std::string KeyOf(const Json& element, const Json& key) {
  Json found = Json::object();
  for (const auto& [name, value] : key.items()) {
    if (auto field = element.find(name); field != element.end()) found[name] = *field;
  }
  return Text(found);
}

// Elements have paths such as `k:{"name":"x"}` or `v:"x"`. Looked up, not compared one by one: a
// tenant may write lists and paths of any length.
Json ExtractList(const Json& list, const Json& fields) {
  std::map<std::string, const Json*> by_key, by_value;
  Json key = Json::object();  // all paths of a list have the same fields
  for (const auto& [path, inner] : fields.items()) {
    if (!path.starts_with("k:") && !path.starts_with("v:")) continue;
    kube::Result<Json> wanted = kube::ParseJson(std::string_view(path).substr(2));
    if (!wanted) continue;
    if (path[0] == 'v') {
      by_value[Text(*wanted)] = &inner;
    } else if (wanted->is_object()) {
      by_key[Text(*wanted)] = &inner;
      key = std::move(*wanted);
    }
  }
  Json owned = Json::array();
  for (const Json& element : list) {
    auto& paths = element.is_object() ? by_key : by_value;
    auto found = paths.find(element.is_object() ? KeyOf(element, key) : Text(element));
    if (found != paths.end()) owned.push_back(Extract(element, *found->second));
  }
  return owned;
}

// Without further paths, the value is owned as a whole.
Json Extract(const Json& value, const Json& fields) {
  if (!fields.is_object() || fields.empty()) return value;
  if (value.is_object()) return ExtractObject(value, fields);
  if (value.is_array()) return ExtractList(value, fields);
  return value;
}

}  // namespace

Json OwnedFields(const Json& object, std::string_view manager) {
  for (const Json& entry : kube::ListAt(object, "metadata.managedFields")) {
    if (kube::StringAt(entry, "manager") != manager ||
        kube::StringAt(entry, "operation") != "Apply" ||
        !kube::StringAt(entry, "subresource").empty())
      continue;
    const Json* fields = kube::Find(entry, "fieldsV1");
    if (fields != nullptr && fields->is_object() && object.is_object())
      return ExtractObject(object, *fields);
  }
  return Json::object();
}

Json FieldsToOwn(Json desired) {
  desired.erase("apiVersion");
  desired.erase("kind");
  if (auto metadata = desired.find("metadata"); metadata != desired.end()) {
    metadata->erase("name");
    metadata->erase("namespace");
  }
  return desired;
}

}  // namespace operator_
