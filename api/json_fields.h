// SPDX-License-Identifier: Apache-2.0
// Reads and writes structs that have a field list (fields.h) as JSON.
//
//   FieldErrors problems;
//   auto spec = ReadFields<PodPlacementConfigSpec>(json["spec"], "spec", problems);
//   json["spec"] = WriteFields(spec);
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/field_error.h"
#include "api/fields.h"
#include "api/json_reader.h"
#include "kube/types/meta.pb.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace api {

// The visitor that reads. A field that is absent or refused keeps its value; an item of a list that
// has a problem is left out.
class JsonFieldReader {
 public:
  JsonFieldReader(const kube::Json& object, std::string path, FieldErrors& problems)
      : reader_(object, std::move(path), problems) {}
  // For fields of an object whose other fields are read by `reader`.
  explicit JsonFieldReader(const JsonReader& reader) : reader_(reader) {}

  void operator()(std::string_view name, int32_t& value, Range range, Presence = kOptional);
  void operator()(std::string_view name, int64_t& value, Range range, Presence = kOptional);
  void operator()(std::string_view name, bool& value, Presence = kOptional);
  void operator()(std::string_view name, std::string& value, Presence = kOptional);
  void operator()(std::string_view name, std::string& value, OneOf allowed, Presence = kOptional);
  void operator()(std::string_view name, std::string& value, Architecture, Presence = kOptional);
  void operator()(std::string_view name, std::string& value, ObjectName);
  void operator()(std::string_view name, std::string& value, LabelKey);
  void operator()(std::string_view name, std::string& value, DnsLabel);
  void operator()(std::string_view name, std::string& value, MaxSize, Presence = kRequired);
  void operator()(std::string_view name, std::string& value, Quantity bounds);
  void operator()(std::string_view name, std::vector<std::string>& values, SomeOf allowed);
  void operator()(std::string_view name, std::vector<std::string>& values, Strings limits);
  void operator()(std::string_view name, std::vector<std::string>& values, Names limits);
  void operator()(std::string_view name, std::optional<int64_t>& value, Range range);
  void operator()(std::string_view name, std::chrono::seconds& value, Period period);
  void operator()(std::string_view name, std::optional<kube::meta::LabelSelector>& value);

  template <class T>
  void operator()(std::string_view name, std::optional<T>& value, Presence presence = kOptional) {
    const kube::Json* object = reader_.Object(name, presence);
    if (object == nullptr) return;
    JsonFieldReader fields(*object, reader_.PathOf(name), reader_.problems());
    T::Fields(value.emplace(), fields);
  }

  template <class T>
  void operator()(std::string_view name, std::vector<T>& values, Items limits,
                  Presence presence = kOptional) {
    const kube::Json* list = List(name, limits, presence);
    for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
      FieldErrors problems;
      JsonFieldReader fields((*list)[i], ItemPath(name, i), problems);
      T value;
      T::Fields(value, fields);
      if (Accept(*list, i, limits.unique, fields)) values.push_back(std::move(value));
    }
  }

 private:
  // nullptr where absent or refused.
  const kube::Json* List(std::string_view name, Items limits, Presence presence);
  std::string ItemPath(std::string_view name, size_t index) const;
  // False if the item `index` has problems, or has the `unique` value of an earlier one. Its
  // problems become the list's.
  bool Accept(const kube::Json& list, size_t index, std::string_view unique, JsonFieldReader& item);

  JsonReader reader_;
};

// The visitor that writes. Left out are empty optionals and the empty strings that mean absent.
class JsonFieldWriter {
 public:
  void operator()(std::string_view name, int64_t value, Range, Presence = kOptional);
  void operator()(std::string_view name, bool value, Presence = kOptional);
  void operator()(std::string_view name, const std::string& value, Presence = kOptional);
  void operator()(std::string_view name, const std::string& value, OneOf, Presence = kOptional);
  void operator()(std::string_view name, const std::string& value, Architecture,
                  Presence = kOptional);
  void operator()(std::string_view name, const std::string& value, ObjectName);
  void operator()(std::string_view name, const std::string& value, LabelKey);
  void operator()(std::string_view name, const std::string& value, DnsLabel);
  void operator()(std::string_view name, const std::string& value, MaxSize, Presence = kRequired);
  void operator()(std::string_view name, const std::string& value, Quantity);
  void operator()(std::string_view name, const std::vector<std::string>& values, SomeOf);
  void operator()(std::string_view name, const std::vector<std::string>& values, Strings);
  void operator()(std::string_view name, const std::vector<std::string>& values, Names);
  void operator()(std::string_view name, const std::optional<int64_t>& value, Range);
  void operator()(std::string_view name, std::chrono::seconds value, Period);
  void operator()(std::string_view name, const std::optional<kube::meta::LabelSelector>& value);

  template <class T>
  void operator()(std::string_view name, const std::optional<T>& value, Presence = kOptional) {
    if (!value) return;
    JsonFieldWriter fields;
    T::Fields(*value, fields);
    Put(name, std::move(fields.json_));
  }

  template <class T>
  void operator()(std::string_view name, const std::vector<T>& values, Items,
                  Presence = kOptional) {
    kube::Json list = kube::Json::array();
    for (const T& value : values) {
      JsonFieldWriter fields;
      T::Fields(value, fields);
      list.push_back(std::move(fields.json_));
    }
    Put(name, std::move(list));
  }

  kube::Json Take() { return std::move(json_); }

 private:
  void Put(std::string_view name, kube::Json value);

  kube::Json json_ = kube::Json::object();
};

// `path` is where `json` is in the object, for the names in `problems`.
template <class T>
T ReadFields(const kube::Json& json, std::string path, FieldErrors& problems) {
  JsonFieldReader reader(json, std::move(path), problems);
  T value;
  T::Fields(value, reader);
  return value;
}

template <class T>
kube::Json WriteFields(const T& value) {
  JsonFieldWriter writer;
  T::Fields(value, writer);
  return writer.Take();
}

// Reads the spec and the status of an API object. Only the problems of the spec are kept: the
// operator replaces a status that does not fit.
template <class T>
void ReadSpecAndStatus(const kube::Json& json, T& object) {
  static const kube::Json kEmpty = kube::Json::object();
  const kube::Json* spec = kube::Find(json, "spec");
  if (spec == nullptr || spec->is_null()) spec = &kEmpty;
  object.spec = ReadFields<decltype(object.spec)>(*spec, "spec", object.problems);
  if (const kube::Json* status = kube::Find(json, "status")) {
    FieldErrors ignored;
    object.status = ReadFields<decltype(object.status)>(*status, "status", ignored);
  }
}

// The whole API object, without an empty status.
template <class T>
kube::Json WriteObject(const T& object) {
  constexpr kube::Resource kResource = kube::ResourceOf<T>::value;
  kube::Json json = {{"apiVersion", kResource.ApiVersion()},
                     {"kind", std::string(kResource.kind)},
                     {"metadata", kube::MetadataToJson(object.metadata())},
                     {"spec", WriteFields(object.spec)}};
  if (object.status != decltype(object.status)()) json["status"] = WriteFields(object.status);
  return json;
}

}  // namespace api
