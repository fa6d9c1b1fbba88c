// SPDX-License-Identifier: Apache-2.0
// JsonReader reads the fields of one untrusted JSON object into typed values. It never throws and
// reads on after a problem: a field that is missing or refused yields its fallback and a
// FieldError.
//
//   JsonReader spec(json["spec"], "spec", problems);
//   priority = spec.Int("priority", {.range = {.low = 0, .high = 255}});
//   if (const kube::Json* plugins = spec.Object("plugins", kRequired)) { ... }
//
// null counts as absent, as it does for the API server. Structs with a field list are read through
// json_fields.h, which is built on this.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "api/field_error.h"
#include "api/fields.h"
#include "kube/types/unstructured.h"

namespace api {

class JsonReader {
 public:
  // `object` and `problems` outlive the reader. An `object` that is not a JSON object is a problem
  // and reads as empty.
  JsonReader(const kube::Json& object, std::string path, FieldErrors& problems);

  struct IntField {
    Range range;
    int64_t fallback = 0;
    Presence presence = kOptional;
  };
  int64_t Int(std::string_view name, IntField field);
  bool Bool(std::string_view name, bool fallback, Presence presence = kOptional);
  std::string String(std::string_view name, Presence presence = kOptional);
  // One of `allowed`, or "" where absent or refused.
  std::string Enum(std::string_view name, std::span<const std::string_view> allowed,
                   Presence presence = kOptional);
  // nullptr where absent or refused.
  const kube::Json* Object(std::string_view name, Presence presence = kOptional);
  const kube::Json* Array(std::string_view name, size_t max_items, Presence presence = kOptional);

  // Whether the field is there, with any value but null.
  bool Has(std::string_view name) { return Value(name, kOptional) != nullptr; }

  // "spec.priority"
  std::string PathOf(std::string_view name) const;
  void Problem(std::string_view name, std::string message);
  FieldErrors& problems() { return problems_; }

 private:
  // nullptr where absent.
  const kube::Json* Value(std::string_view name, Presence presence);

  const kube::Json& object_;
  std::string path_;
  FieldErrors& problems_;
};

// Adds to `problems`, up to 20: a hostile object may have any number.
void AddProblem(FieldErrors& problems, std::string field, std::string message);

}  // namespace api
