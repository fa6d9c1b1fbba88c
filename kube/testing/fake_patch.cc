// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/fake_patch.h"

#include <algorithm>
#include <memory>

#include "kube/types/unstructured.h"

namespace kube {
namespace {

// FieldsV1 of an applied object; lists belong to the manager as a whole.
Json FieldsOf(const Json& value) {
  Json fields = Json::object();
  if (!value.is_object()) return fields;
  for (const auto& [name, inner] : value.items()) fields["f:" + name] = FieldsOf(inner);
  return fields;
}

std::string ManagerOf(const std::string& target) {
  constexpr std::string_view kManager = "fieldManager=";
  std::string manager = target.substr(std::min(target.find(kManager), target.size()));
  manager = manager.substr(std::min(kManager.size(), manager.size()));
  return manager.substr(0, manager.find('&'));
}

// Removes what `fields` have, and `applied` does not.
void RemoveOthers(Json& object, const Json& fields, const Json& applied) {
  for (const auto& [field, inner] : fields.items()) {
    const std::string name = field.substr(2);
    auto found = object.find(name);
    if (found == object.end()) continue;
    if (inner.empty() || !found->is_object()) {
      if (!applied.contains(name)) object.erase(found);
      continue;
    }
    RemoveOthers(*found, inner, applied.value(name, Json::object()));
    if (found->empty() && !applied.contains(name)) object.erase(found);
  }
}

void RemoveFormerFields(Json& object, const Json& applied, const std::string& target) {
  const Json* managed = Find(object, "metadata.managedFields");
  if (managed == nullptr || managed->empty() ||
      StringAt(managed->front(), "manager") != ManagerOf(target))
    return;
  const Json fields = managed->front().value("fieldsV1", Json::object());
  RemoveOthers(object, fields, applied);
}

// The only manager of an object here is the last one that applied it.
void SetAppliedFields(Json& object, const Json& applied, const std::string& target) {
  Json fields = FieldsOf(applied);
  for (const char* name : {"f:apiVersion", "f:kind"}) fields.erase(name);
  for (const char* name : {"f:name", "f:namespace"}) fields["f:metadata"].erase(name);
  object["metadata"]["managedFields"] = Json::array(
      {{{"manager", ManagerOf(target)}, {"operation", "Apply"}, {"fieldsV1", std::move(fields)}}});
}

}  // namespace

Result<FakeObject> Patched(const FakeObject& object, const ApiRequest& request) {
  Result<Json> patch = ParseJson(request.body);
  if (!patch) return patch.error();
  Result<std::shared_ptr<const Json>> stored = object.AsJson();
  if (!stored) return stored.error();
  Json patched = **stored;
  if (request.content_type == kJsonPatch) {
    try {
      patched = patched.patch(*patch);
    } catch (const Json::exception& e) {
      return Error::FromHttpStatus(422, "Invalid", e.what());
    }
  } else {
    if (request.content_type == kApplyPatch) RemoveFormerFields(patched, *patch, request.target);
    patched.merge_patch(*patch);
    if (request.content_type == kApplyPatch) SetAppliedFields(patched, *patch, request.target);
  }
  if (!patched.is_object()) return Error::Invalid("the patched object is none");
  return object.WithJson(std::move(patched));
}

Result<FakeObject> CreatedByApply(std::string_view collection, const ApiRequest& request) {
  Result<FakeObject> object = FakeObject::Parse(collection, kJson, request.body);
  if (!object) return object.error();
  Result<std::shared_ptr<const Json>> applied = object->AsJson();
  if (!applied) return applied.error();
  Json json = **applied;
  SetAppliedFields(json, **applied, request.target);
  return object->WithJson(std::move(json));
}

}  // namespace kube
