// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/wire_json.h"

#include "kube/testing/json_to_wire.h"
#include "kube/testing/serialize_in_order.h"
#include "kube/testing/wire_schema.h"
#include "kube/testing/wire_to_json.h"

namespace kube {

WireJson::WireJson(std::string_view descriptors)
    : schema_(std::make_unique<const WireSchema>(descriptors)) {}

WireJson::~WireJson() = default;

Result<Json> WireJson::ToJson(const std::string& type, std::string_view bytes) const {
  std::unique_ptr<google::protobuf::Message> message = schema_->New(type);
  if (message == nullptr ||
      !message->ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return Error::Invalid("no message " + type);
  return WireToJson(*schema_, *message);
}

Result<std::string> WireJson::ToWire(const std::string& type, const Json& object) const {
  std::unique_ptr<google::protobuf::Message> message = schema_->New(type);
  if (message == nullptr) return Error::Invalid("no message " + type);
  Result<void> filled = JsonToWire(*schema_, object, *message);
  if (!filled) return filled.error();
  return SerializeInOrder(*message);
}

}  // namespace kube
