// SPDX-License-Identifier: Apache-2.0
// WireJson: API objects from protobuf to JSON and back, as the API server translates them, by the
// descriptors of our messages. Nothing is lost on a way there and back:
// - A field that is set is a member, also with an empty value.
// - JSON members that a message does not know travel in its unknown field 15000, as JSON text.
// - Protobuf fields that a message does not know travel in its JSON member
//   unknownProtobufFields, as base64.
// Special as in the API: Time and MicroTime (RFC 3339; null is the zero time), Quantity,
// IntOrString, FieldsV1, bytes (base64), the entries of managedFields, and the members of a
// volume's source, which are those of the volume.
// A null member, an empty list and an empty map are absent ones, as the API server reads them.
//
//   WireJson api(ApiDescriptors());
//   Result<Json> pod = api.ToJson("kube.core.Pod", bytes);
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "kube/base/error.h"
#include "kube/types/unstructured.h"

namespace kube {

class WireSchema;

class WireJson {
 public:
  // `descriptors`: a serialized FileDescriptorSet with all that it imports.
  explicit WireJson(std::string_view descriptors);
  ~WireJson();

  // The JSON of the message `bytes` of the type `type` ("kube.core.Pod"), without the members
  // apiVersion and kind.
  // Errors: kInvalid for bytes that are no such message, or a time out of JSON's range.
  Result<Json> ToJson(const std::string& type, std::string_view bytes) const;
  // The message of `object`; the same bytes for the same object.
  // Errors: kInvalid for a member whose value has another type than its field.
  Result<std::string> ToWire(const std::string& type, const Json& object) const;

 private:
  std::unique_ptr<const WireSchema> schema_;
};

}  // namespace kube
