// SPDX-License-Identifier: Apache-2.0
#include "kube/types/unstructured.h"

#include <glog/logging.h>

#include "kube/base/clock.h"

namespace kube {
namespace {

constexpr int kMaxDepth = 200;

void ReadTime(const Json& metadata, const char* name, meta::Time* (meta::ObjectMeta::*field)(),
              meta::ObjectMeta& out) {
  std::string text = StringAt(metadata, name);
  if (text.empty()) return;
  Result<WallTime> time = ParseTime(text);
  if (!time) return;
  (out.*field)()->set_seconds(
      std::chrono::duration_cast<std::chrono::seconds>(time->time_since_epoch()).count());
}

void ReadStrings(const Json& metadata, const char* name,
                 google::protobuf::Map<std::string, std::string>& out) {
  const Json* map = Find(metadata, name);
  if (map == nullptr || !map->is_object()) return;
  for (auto& [key, value] : map->items()) {
    if (value.is_string()) out[key] = value.get_ref<const std::string&>();
  }
}

// Whether values are nested so deep that a tree of them could exhaust the stack. Of text that is
// not JSON, up to its first error. The parser's own callback could count the depth, but with a
// callback the parser needs the square of the number of siblings.
bool IsTooDeep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxDepth) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

}  // namespace

Result<Json> ParseJson(std::string_view text) {
  if (IsTooDeep(text))
    return Error::Invalid("JSON nested deeper than " + std::to_string(kMaxDepth));
  Json json =
      Json::parse(text.begin(), text.end(), /*callback=*/nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Error::Invalid("not valid JSON");
  return json;
}

Json MustParseJson(std::string_view text) {
  Result<Json> json = ParseJson(text);
  CHECK(json) << json.error() << ": " << text.substr(0, 100);
  return std::move(*json);
}

std::string DumpJson(const Json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

std::string PrettyJson(const Json& json) {
  return json.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

std::string PackJson(const Json& json) {
  std::string packed;
  Json::to_cbor(json, packed);
  packed.shrink_to_fit();
  return packed;
}

Result<Json> UnpackJson(std::string_view packed) {
  Json json = Json::from_cbor(packed, /*strict=*/true, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Error::Invalid("not valid CBOR");
  return json;
}

const Json* Find(const Json& object, std::string_view dotted_path) {
  const Json* at = &object;
  while (!dotted_path.empty()) {
    size_t dot = dotted_path.find('.');
    std::string_view step = dotted_path.substr(0, dot);
    if (!at->is_object()) return nullptr;
    auto found = at->find(std::string(step));
    if (found == at->end()) return nullptr;
    at = &*found;
    dotted_path = dot == std::string_view::npos ? std::string_view() : dotted_path.substr(dot + 1);
  }
  return at;
}

std::string StringAt(const Json& object, std::string_view dotted_path, std::string_view fallback) {
  const Json* value = Find(object, dotted_path);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string(fallback);
}

int64_t IntAt(const Json& object, std::string_view dotted_path, int64_t fallback) {
  const Json* value = Find(object, dotted_path);
  return value != nullptr && value->is_number_integer() ? value->get<int64_t>() : fallback;
}

bool BoolAt(const Json& object, std::string_view dotted_path, bool fallback) {
  const Json* value = Find(object, dotted_path);
  return value != nullptr && value->is_boolean() ? value->get<bool>() : fallback;
}

meta::ObjectMeta MetadataFromJson(const Json& object) {
  meta::ObjectMeta out;
  const Json* metadata = Find(object, "metadata");
  if (metadata == nullptr || !metadata->is_object()) return out;
  out.set_name(StringAt(*metadata, "name"));
  out.set_generate_name(StringAt(*metadata, "generateName"));
  out.set_namespace_(StringAt(*metadata, "namespace"));
  out.set_uid(StringAt(*metadata, "uid"));
  out.set_resource_version(StringAt(*metadata, "resourceVersion"));
  out.set_generation(IntAt(*metadata, "generation"));
  ReadTime(*metadata, "creationTimestamp", &meta::ObjectMeta::mutable_creation_timestamp, out);
  ReadTime(*metadata, "deletionTimestamp", &meta::ObjectMeta::mutable_deletion_timestamp, out);
  ReadStrings(*metadata, "labels", *out.mutable_labels());
  ReadStrings(*metadata, "annotations", *out.mutable_annotations());
  if (const Json* finalizers = Find(*metadata, "finalizers");
      finalizers != nullptr && finalizers->is_array()) {
    for (const Json& finalizer : *finalizers) {
      if (finalizer.is_string()) out.add_finalizers(finalizer.get<std::string>());
    }
  }
  if (const Json* owners = Find(*metadata, "ownerReferences");
      owners != nullptr && owners->is_array()) {
    for (const Json& owner : *owners) {
      meta::OwnerReference& reference = *out.add_owner_references();
      reference.set_api_version(StringAt(owner, "apiVersion"));
      reference.set_kind(StringAt(owner, "kind"));
      reference.set_name(StringAt(owner, "name"));
      reference.set_uid(StringAt(owner, "uid"));
      reference.set_controller(BoolAt(owner, "controller"));
    }
  }
  return out;
}

Json MetadataToJson(const meta::ObjectMeta& metadata) {
  Json out = Json::object();
  auto set = [&](const char* name, const std::string& value) {
    if (!value.empty()) out[name] = value;
  };
  set("name", metadata.name());
  set("generateName", metadata.generate_name());
  set("namespace", metadata.namespace_());
  set("uid", metadata.uid());
  set("resourceVersion", metadata.resource_version());
  if (metadata.generation() != 0) out["generation"] = metadata.generation();
  for (auto& [key, value] : metadata.labels()) out["labels"][key] = value;
  for (auto& [key, value] : metadata.annotations()) out["annotations"][key] = value;
  for (auto& finalizer : metadata.finalizers()) out["finalizers"].push_back(finalizer);
  for (auto& owner : metadata.owner_references()) {
    out["ownerReferences"].push_back({{"apiVersion", owner.api_version()},
                                      {"kind", owner.kind()},
                                      {"name", owner.name()},
                                      {"uid", owner.uid()},
                                      {"controller", owner.controller()}});
  }
  auto set_time = [&](const char* name, bool present, const meta::Time& time) {
    if (present) out[name] = FormatTime(WallTime(std::chrono::seconds(time.seconds())));
  };
  set_time("creationTimestamp", metadata.has_creation_timestamp(), metadata.creation_timestamp());
  set_time("deletionTimestamp", metadata.has_deletion_timestamp(), metadata.deletion_timestamp());
  return out;
}

}  // namespace kube
