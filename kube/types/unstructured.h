// SPDX-License-Identifier: Apache-2.0
// Unstructured: any object as JSON, for kinds that need no type of ours (what the operator applies
// and watches).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "kube/base/error.h"
#include "kube/types/meta.pb.h"

namespace kube {

using Json = nlohmann::json;

// Parses untrusted JSON without exceptions; kInvalid for bad syntax, bad UTF-8 or nesting deeper
// than 200.
Result<Json> ParseJson(std::string_view text);

// The metadata of an object, {} where absent or of the wrong type.
meta::ObjectMeta MetadataFromJson(const Json& object);
// The "metadata" value with the fields that ObjectMeta names; managedFields are left out.
Json MetadataToJson(const meta::ObjectMeta& metadata);

// The value at a dotted path ("spec.replicas"), or nullptr. Never throws, whatever the types on the
// way.
const Json* Find(const Json& object, std::string_view dotted_path);
std::string StringAt(const Json& object, std::string_view dotted_path,
                     std::string_view fallback = "");
int64_t IntAt(const Json& object, std::string_view dotted_path, int64_t fallback = 0);
bool BoolAt(const Json& object, std::string_view dotted_path, bool fallback = false);

class Unstructured {
 public:
  Unstructured() = default;
  explicit Unstructured(Json body) : body_(std::move(body)), metadata_(MetadataFromJson(body_)) {}

  const Json& body() const { return body_; }
  const meta::ObjectMeta& metadata() const { return metadata_; }

  static Result<Unstructured> FromJson(Json body) { return Unstructured(std::move(body)); }
  Json ToJson() const { return body_; }

 private:
  Json body_ = Json::object();
  meta::ObjectMeta metadata_;
};

}  // namespace kube
