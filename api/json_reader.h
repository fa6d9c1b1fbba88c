// SPDX-License-Identifier: Apache-2.0
// JsonReader reads the fields of one untrusted JSON object into typed values. It never throws and
// never stops: a field that is missing or of the wrong type yields its fallback, and a FieldError
// that names it.
//
//   JsonReader spec(json["spec"], "spec", problems);
//   priority = spec.Int("priority", {.low = 0, .high = 255});
//   if (const kube::Json* plugins = spec.Object("plugins", kRequired)) { ... }
//
// null counts as absent, as it does for the API server.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "api/field_error.h"
#include "kube/types/unstructured.h"

namespace api {

enum Presence { kOptional, kRequired };

class JsonReader {
 public:
  // `object` and `problems` outlive the reader; an `object` that is not a JSON object reads as
  // empty, with an error.
  JsonReader(const kube::Json& object, std::string path, FieldErrors& problems);

  struct IntField {
    int64_t low;
    int64_t high;
    int64_t fallback = 0;
    Presence presence = kOptional;
  };
  int64_t Int(std::string_view name, IntField field);
  bool Bool(std::string_view name, Presence presence);
  std::string String(std::string_view name, Presence presence = kOptional);
  // One of `allowed`, or "" where absent or refused.
  std::string Enum(std::string_view name, std::initializer_list<std::string_view> allowed,
                   Presence presence = kOptional);
  // nullptr where absent or refused.
  const kube::Json* Object(std::string_view name, Presence presence = kOptional);
  const kube::Json* Array(std::string_view name, size_t max_items, Presence presence = kOptional);

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

// Adds to `problems`, of which only the first 20 are kept: the object may be hostile.
void AddProblem(FieldErrors& problems, std::string field, std::string message);

}  // namespace api
