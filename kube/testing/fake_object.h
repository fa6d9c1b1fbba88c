// SPDX-License-Identifier: Apache-2.0
// FakeObject: an API object as a FakeStore stores it, in the encoding in which it was written.
#pragma once

#include <string>
#include <vector>

#include "kube/base/error.h"
#include "kube/types/meta.pb.h"
#include "kube/types/unstructured.h"

namespace kube {

class FakeObject {
 public:
  // From a request's body. kInvalid if it does not parse.
  static Result<FakeObject> Parse(std::string_view content_type, std::string_view body);

  bool protobuf() const { return protobuf_; }
  const std::string& kind() const { return kind_; }
  // JSON objects only.
  const Json& json() const { return json_; }
  Json& mutable_json() { return json_; }

  meta::ObjectMeta metadata() const;
  // Writes the server's fields (name, namespace, uid, resourceVersion, generation, the two
  // timestamps) of a JSON object, and all of `metadata` of a protobuf object.
  void SetMetadata(const meta::ObjectMeta& metadata);

  // Matches a field selector; kInvalid for a field that the kind does not support.
  Result<bool> MatchesFields(std::string_view selector) const;
  bool MatchesLabels(std::string_view selector) const;

  // The object without an envelope: a bare message, or JSON text.
  std::string Bare() const;
  // The body of a GET response: with its envelope, or JSON text.
  std::string Body() const;

  // Compares contents: two encodings of one object may have different orders in their maps.
  bool operator==(const FakeObject& other) const;

 private:
  bool protobuf_ = false;
  std::string api_version_;
  std::string kind_;
  std::string bytes_;
  Json json_;
};

// "k8s\0" + Unknown{type, raw}.
std::string SealFakeEnvelope(std::string_view api_version, std::string_view kind, std::string raw);

}  // namespace kube
