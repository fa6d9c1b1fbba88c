// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/json_to_wire.h"

#include <google/protobuf/unknown_field_set.h>

#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "kube/base/base64.h"
#include "kube/testing/serialize_in_order.h"
#include "kube/testing/wire_time.h"

namespace kube {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::UnknownFieldSet;

const FieldDescriptor* Field(const Message& message, int number) {
  return message.GetDescriptor()->FindFieldByNumber(number);
}

// The first error is kept, and the message is then of no use.
class JsonReader {
 public:
  explicit JsonReader(const WireSchema& schema) : schema_(schema) {}

  const std::optional<Error>& error() const { return error_; }

  void Read(const Json& object, Message& message, const std::string& path) {
    if (!object.is_object()) return Fail(path, "an object");
    const Reflection& reflection = *message.GetReflection();
    Json others = Json::object();
    for (const auto& [name, value] : object.items()) {
      WireField found = schema_.Find(*message.GetDescriptor(), name);
      if (found.field != nullptr) {
        // An inlined message exists as soon as it has a member.
        Message& owner = found.inlined_in == nullptr || value.is_null()
                             ? message
                             : *reflection.MutableMessage(&message, found.inlined_in);
        ReadField(value, owner, found.field, path + "." + name);
      } else if (name.starts_with(kProtobufFields)) {
        ReadUnknown(value, message, name, path + "." + name);
      } else {
        others[name] = value;
      }
    }
    if (others.empty()) return;
    reflection.MutableUnknownFields(&message)->AddLengthDelimited(kJsonMembers, DumpJson(others));
  }

 private:
  // The unknown fields of `message`, or of the message that it inlines.
  void ReadUnknown(const Json& value, Message& message, std::string_view name,
                   const std::string& path) {
    if (!value.is_string()) return Fail(path, "base64");
    Result<std::string> bytes = Base64Decode(value.get_ref<const std::string&>());
    if (!bytes) return Fail(path, "base64");
    name.remove_prefix(std::string_view(kProtobufFields).size());
    Message* owner = &message;
    if (!name.empty()) {
      const FieldDescriptor* inlined = nullptr;
      const auto& type = *message.GetDescriptor();
      for (int i = 0; i < type.field_count(); ++i) {
        if (WireSchema::IsInlined(*type.field(i)) &&
            name.substr(1) == WireSchema::NameOf(*type.field(i)))
          inlined = type.field(i);
      }
      if (inlined == nullptr) return Fail(path, "the name of an inlined field");
      owner = message.GetReflection()->MutableMessage(&message, inlined);
    }
    UnknownFieldSet fields;
    if (!fields.ParseFromString(*bytes)) return Fail(path, "protobuf");
    owner->GetReflection()->MutableUnknownFields(owner)->MergeFrom(fields);
  }

  void ReadField(const Json& value, Message& message, const FieldDescriptor* field,
                 const std::string& path) {
    if (!field->is_repeated()) {
      if (value.is_null() && !IsTime(field)) return;
      return ReadSingle(value, message, field, path);
    }
    if (value.is_null()) return;
    if (!field->is_map()) {
      if (!value.is_array()) return Fail(path, "a list");
      for (size_t i = 0; i < value.size(); ++i)
        ReadElement(value[i], message, field, path + "[" + std::to_string(i) + "]");
      return;
    }
    if (!value.is_object()) return Fail(path, "a map");
    for (const auto& [key, inner] : value.items()) {
      Message* entry = message.GetReflection()->AddMessage(&message, field);
      entry->GetReflection()->SetString(entry, field->message_type()->map_key(), key);
      ReadSingle(inner, *entry, field->message_type()->map_value(), path + "." + key);
    }
  }

  void ReadSingle(const Json& value, Message& message, const FieldDescriptor* field,
                  const std::string& path) {
    const Reflection& reflection = *message.GetReflection();
    switch (field->type()) {
      case FieldDescriptor::TYPE_STRING:
        if (!value.is_string()) return Fail(path, "a string");
        return reflection.SetString(&message, field, value.get<std::string>());
      case FieldDescriptor::TYPE_BYTES: {
        Result<std::string> bytes = Bytes(value);
        if (!bytes) return Fail(path, "base64");
        return reflection.SetString(&message, field, *bytes);
      }
      case FieldDescriptor::TYPE_BOOL:
        if (!value.is_boolean()) return Fail(path, "a boolean");
        return reflection.SetBool(&message, field, value.get<bool>());
      case FieldDescriptor::TYPE_INT32:
        if (!IsInt32(value)) return Fail(path, "a number of 32 bits");
        return reflection.SetInt32(&message, field, value.get<int32_t>());
      case FieldDescriptor::TYPE_INT64:
        if (!value.is_number_integer()) return Fail(path, "a whole number");
        return reflection.SetInt64(&message, field, value.get<int64_t>());
      case FieldDescriptor::TYPE_MESSAGE:
        return ReadValue(value, *reflection.MutableMessage(&message, field), path);
      default:
        return Fail(path, "a type that the API uses");
    }
  }

  void ReadElement(const Json& value, Message& message, const FieldDescriptor* field,
                   const std::string& path) {
    const Reflection& reflection = *message.GetReflection();
    switch (field->type()) {
      case FieldDescriptor::TYPE_STRING:
        if (!value.is_string()) return Fail(path, "a string");
        return reflection.AddString(&message, field, value.get<std::string>());
      case FieldDescriptor::TYPE_BYTES:
        return ReadEncoded(value, message, field, path);
      case FieldDescriptor::TYPE_MESSAGE:
        return ReadValue(value, *reflection.AddMessage(&message, field), path);
      default:
        return Fail(path, "a type that the API uses");
    }
  }

  void ReadEncoded(const Json& value, Message& message, const FieldDescriptor* field,
                   const std::string& path) {
    std::unique_ptr<Message> inner = schema_.New(WireSchema::EncodedType(*field));
    std::string bytes;
    if (inner != nullptr && value.is_object()) {
      Read(value, *inner, path);
      bytes = SerializeInOrder(*inner);
    } else {
      Result<std::string> decoded = Bytes(value);
      if (!decoded) return Fail(path, "base64");
      bytes = *decoded;
    }
    message.GetReflection()->AddString(&message, field, std::move(bytes));
  }

  void ReadValue(const Json& value, Message& message, const std::string& path) {
    const Reflection& reflection = *message.GetReflection();
    switch (WireSchema::ValueOf(*message.GetDescriptor())) {
      case WireValue::kNone:
        return Read(value, message, path);
      case WireValue::kTime:
        return ReadTime(value, message, path);
      case WireValue::kQuantity:
        if (!value.is_string() && !value.is_number()) return Fail(path, "a quantity");
        return reflection.SetString(&message, Field(message, WireFields::kQuantity),
                                    value.is_string() ? value.get<std::string>() : DumpJson(value));
      case WireValue::kIntOrString:
        if (value.is_string()) {
          reflection.SetInt64(&message, Field(message, WireFields::kKind), WireFields::kTextKind);
          return reflection.SetString(&message, Field(message, WireFields::kText),
                                      value.get<std::string>());
        }
        if (!IsInt32(value)) return Fail(path, "a number or a string");
        reflection.SetInt64(&message, Field(message, WireFields::kKind), WireFields::kNumberKind);
        return reflection.SetInt32(&message, Field(message, WireFields::kNumber),
                                   value.get<int32_t>());
      case WireValue::kFieldsV1:
        return reflection.SetString(&message, Field(message, WireFields::kRaw), DumpJson(value));
    }
  }

  void ReadTime(const Json& value, Message& message, const std::string& path) {
    if (value.is_null()) return;  // the zero time: a message without fields
    if (!value.is_string()) return Fail(path, "a time");
    Result<WireTime> time = ParseWireTime(value.get_ref<const std::string&>());
    if (!time) return Fail(path, "a time");
    const Reflection& reflection = *message.GetReflection();
    reflection.SetInt64(&message, Field(message, WireFields::kSeconds), time->seconds);
    if (time->nanos != 0)
      reflection.SetInt32(&message, Field(message, WireFields::kNanos), time->nanos);
  }

  static bool IsTime(const FieldDescriptor* field) {
    return field->type() == FieldDescriptor::TYPE_MESSAGE &&
           WireSchema::ValueOf(*field->message_type()) == WireValue::kTime;
  }
  static bool IsInt32(const Json& value) {
    if (!value.is_number_integer()) return false;
    int64_t number = value.get<int64_t>();
    return number >= std::numeric_limits<int32_t>::min() &&
           number <= std::numeric_limits<int32_t>::max();
  }
  static Result<std::string> Bytes(const Json& value) {
    if (!value.is_string()) return Error::Invalid("no string");
    return Base64Decode(value.get_ref<const std::string&>());
  }

  void Fail(const std::string& path, const std::string& expected) {
    if (!error_)
      error_ = Error::Invalid(path.substr(path.find('.') + 1) + ": expected " + expected);
  }

  const WireSchema& schema_;
  std::optional<Error> error_;
};

}  // namespace

Result<void> JsonToWire(const WireSchema& schema, const Json& object, Message& message) {
  JsonReader reader(schema);
  reader.Read(object, message, "");
  if (reader.error()) return *reader.error();
  return Ok();
}

}  // namespace kube
