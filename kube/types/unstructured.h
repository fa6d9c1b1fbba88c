// SPDX-License-Identifier: Apache-2.0
// Unstructured: any object as JSON, for kinds without a C++ type. The only place where JSON text is
// read and written: nlohmann's parser and serializer are templates that take a second to compile.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "kube/base/error.h"
#include "kube/types/meta.pb.h"

namespace kube {

using Json = nlohmann::json;

// Parses untrusted JSON without exceptions. Errors: kInvalid for bad syntax, bad UTF-8 or nesting
// deeper than 200 levels.
Result<Json> ParseJson(std::string_view text);
// Parses JSON that the program itself contains or wrote; anything else ends the process.
Json MustParseJson(std::string_view text);

// JSON without whitespace. Bytes that are not UTF-8 become U+FFFD.
std::string DumpJson(const Json& json);
// The same on many lines, indented by two spaces, for people.
std::string PrettyJson(const Json& json);

// CBOR (RFC 8949), for objects kept in memory: smaller than text, and quicker to read.
std::string PackJson(const Json& json);
// Reads what PackJson() returned. Errors: kInvalid.
Result<Json> UnpackJson(std::string_view packed);

// The metadata of an object; a field that is absent or of the wrong type stays unset.
meta::ObjectMeta MetadataFromJson(const Json& object);
// The "metadata" value with the fields that ObjectMeta names; managedFields are left out.
Json MetadataToJson(const meta::ObjectMeta& metadata);

// The value at a dotted path ("spec.replicas"), or nullptr. Never throws: a value of another type
// on the path also gives nullptr.
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
