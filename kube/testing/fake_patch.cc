// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/fake_patch.h"

#include <algorithm>
#include <string>

#include "kube/types/unstructured.h"

namespace kube {
namespace {

// A merge patch of a protobuf object: only annotations are supported.
Result<FakeObject> PatchAnnotations(FakeObject object, const Json& patch) {
  const Json* annotations = Find(patch, "metadata.annotations");
  if (annotations == nullptr || !annotations->is_object() || patch.size() != 1 ||
      patch["metadata"].size() != 1) {
    return Error::FromHttpStatus(415, "UnsupportedMediaType",
                                 "this fake patches annotations of protobuf objects only");
  }
  meta::ObjectMeta meta = object.metadata();
  for (const auto& [key, value] : annotations->items()) {
    if (value.is_null()) {
      meta.mutable_annotations()->erase(key);
    } else {
      (*meta.mutable_annotations())[key] = value.get<std::string>();
    }
  }
  object.SetMetadata(meta);
  return object;
}

// FieldsV1 of an applied object; lists belong to the manager as a whole.
Json FieldsOf(const Json& value) {
  Json fields = Json::object();
  if (!value.is_object()) return fields;
  for (const auto& [name, inner] : value.items()) fields["f:" + name] = FieldsOf(inner);
  return fields;
}

// The only manager of an object here is the last one that applied it.
void SetAppliedFields(Json& object, const Json& applied, const std::string& target) {
  constexpr std::string_view kManager = "fieldManager=";
  Json fields = FieldsOf(applied);
  for (const char* name : {"f:apiVersion", "f:kind"}) fields.erase(name);
  for (const char* name : {"f:name", "f:namespace"}) fields["f:metadata"].erase(name);
  std::string manager = target.substr(std::min(target.find(kManager), target.size()));
  manager = manager.substr(std::min(kManager.size(), manager.size()));
  manager = manager.substr(0, manager.find('&'));
  object["metadata"]["managedFields"] = Json::array(
      {{{"manager", manager}, {"operation", "Apply"}, {"fieldsV1", std::move(fields)}}});
}

}  // namespace

Result<FakeObject> Patched(FakeObject object, const ApiRequest& request) {
  Result<Json> patch = ParseJson(request.body);
  if (!patch) return patch.error();
  if (object.protobuf()) return PatchAnnotations(std::move(object), *patch);
  if (request.content_type == kJsonPatch) {
    try {
      object.mutable_json() = object.json().patch(*patch);
    } catch (const Json::exception& e) {
      return Error::FromHttpStatus(422, "Invalid", e.what());
    }
    return object;
  }
  object.mutable_json().merge_patch(*patch);
  if (request.content_type == kApplyPatch)
    SetAppliedFields(object.mutable_json(), *patch, request.target);
  return object;
}

Result<FakeObject> CreatedByApply(const ApiRequest& request) {
  Result<FakeObject> object = FakeObject::Parse(kJson, request.body);
  if (!object) return object.error();
  Json applied = object->json();
  SetAppliedFields(object->mutable_json(), applied, request.target);
  return object;
}

}  // namespace kube
