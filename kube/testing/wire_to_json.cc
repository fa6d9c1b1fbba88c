// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/wire_to_json.h"

#include <google/protobuf/unknown_field_set.h>

#include <memory>
#include <optional>
#include <string>

#include "kube/base/base64.h"
#include "kube/testing/wire_time.h"

namespace kube {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

const FieldDescriptor* Field(const Message& message, int number) {
  return message.GetDescriptor()->FindFieldByNumber(number);
}

// The first error is kept, and the result is then of no use.
class JsonWriter {
 public:
  explicit JsonWriter(const WireSchema& schema) : schema_(schema) {}

  const std::optional<Error>& error() const { return error_; }

  Json Object(const Message& message) {
    Json object = Json::object();
    AddMembers(message, kProtobufFields, object);
    return object;
  }

 private:
  // `rest`: the member for unknown protobuf fields.
  void AddMembers(const Message& message, const std::string& rest, Json& object) {
    const auto& type = *message.GetDescriptor();
    const Reflection& reflection = *message.GetReflection();
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor* field = type.field(i);
      std::string name = WireSchema::NameOf(*field);
      if (field->is_repeated()) {
        if (reflection.FieldSize(message, field) > 0) object[name] = Repeated(message, field);
      } else if (reflection.HasField(message, field)) {
        if (WireSchema::IsInlined(*field)) {
          AddMembers(reflection.GetMessage(message, field), rest + "." + name, object);
        } else {
          object[name] = Single(message, field);
        }
      }
    }
    AddUnknown(reflection.GetUnknownFields(message), rest, object);
  }

  void AddUnknown(const UnknownFieldSet& fields, const std::string& rest, Json& object) {
    UnknownFieldSet others;
    for (int i = 0; i < fields.field_count(); ++i) {
      const UnknownField& field = fields.field(i);
      if (field.number() == kJsonMembers && field.type() == UnknownField::TYPE_LENGTH_DELIMITED) {
        Result<Json> members = ParseJson(field.length_delimited());
        if (members && members->is_object()) {
          object.update(*members);
          continue;
        }
      }
      others.AddField(field);
    }
    if (others.empty()) return;
    std::string bytes;
    others.SerializeToString(&bytes);
    object[rest] = Base64Encode(bytes);
  }

  Json Repeated(const Message& message, const FieldDescriptor* field) {
    const Reflection& reflection = *message.GetReflection();
    Json list = field->is_map() ? Json::object() : Json::array();
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      if (!field->is_map()) {
        list.push_back(Element(message, field, i));
        continue;
      }
      const Message& entry = reflection.GetRepeatedMessage(message, field, i);
      std::string key = entry.GetReflection()->GetString(entry, field->message_type()->map_key());
      list[key] = Single(entry, field->message_type()->map_value());
    }
    return list;
  }

  Json Single(const Message& message, const FieldDescriptor* field) {
    const Reflection& reflection = *message.GetReflection();
    switch (field->type()) {
      case FieldDescriptor::TYPE_STRING:
        return reflection.GetString(message, field);
      case FieldDescriptor::TYPE_BYTES:
        return Base64Encode(reflection.GetString(message, field));
      case FieldDescriptor::TYPE_BOOL:
        return reflection.GetBool(message, field);
      case FieldDescriptor::TYPE_INT32:
        return reflection.GetInt32(message, field);
      case FieldDescriptor::TYPE_INT64:
        return reflection.GetInt64(message, field);
      case FieldDescriptor::TYPE_MESSAGE:
        return Value(reflection.GetMessage(message, field), WireSchema::IsMicroTime(*field));
      default:
        return Fail("a field of a type that the API does not use: " + field->full_name());
    }
  }

  Json Element(const Message& message, const FieldDescriptor* field, int index) {
    const Reflection& reflection = *message.GetReflection();
    switch (field->type()) {
      case FieldDescriptor::TYPE_STRING:
        return reflection.GetRepeatedString(message, field, index);
      case FieldDescriptor::TYPE_BYTES:
        return Encoded(field, reflection.GetRepeatedString(message, field, index));
      case FieldDescriptor::TYPE_MESSAGE:
        return Value(reflection.GetRepeatedMessage(message, field, index), /*micro=*/false);
      default:
        return Fail("a list of a type that the API does not use: " + field->full_name());
    }
  }

  // A message in bytes. Bytes that are none stay a string.
  Json Encoded(const FieldDescriptor* field, const std::string& bytes) {
    std::unique_ptr<Message> inner = schema_.New(WireSchema::EncodedType(*field));
    if (inner == nullptr || !inner->ParsePartialFromString(bytes)) return Base64Encode(bytes);
    return Object(*inner);
  }

  Json Value(const Message& message, bool micro) {
    const Reflection& reflection = *message.GetReflection();
    switch (WireSchema::ValueOf(*message.GetDescriptor())) {
      case WireValue::kNone:
        return Object(message);
      case WireValue::kTime:
        return TimeText(message, micro);
      case WireValue::kQuantity:
        return reflection.GetString(message, Field(message, WireFields::kQuantity));
      case WireValue::kIntOrString:
        if (reflection.GetInt64(message, Field(message, WireFields::kKind)) ==
            WireFields::kTextKind)
          return reflection.GetString(message, Field(message, WireFields::kText));
        return reflection.GetInt32(message, Field(message, WireFields::kNumber));
      case WireValue::kFieldsV1: {
        Result<Json> fields =
            ParseJson(reflection.GetString(message, Field(message, WireFields::kRaw)));
        if (!fields) return Fail("FieldsV1 without JSON");
        return *fields;
      }
    }
    return Json();
  }

  Json TimeText(const Message& message, bool micro) {
    const Reflection& reflection = *message.GetReflection();
    const FieldDescriptor* seconds = Field(message, WireFields::kSeconds);
    const FieldDescriptor* nanos = Field(message, WireFields::kNanos);
    if (!reflection.HasField(message, seconds) && !reflection.HasField(message, nanos))
      return Json();
    Result<std::string> text = WireTimeText(
        {reflection.GetInt64(message, seconds), reflection.GetInt32(message, nanos)}, micro);
    if (!text) return Fail(text.error().message());
    return *text;
  }

  Json Fail(const std::string& why) {
    if (!error_) error_ = Error::Invalid(why);
    return Json();
  }

  const WireSchema& schema_;
  std::optional<Error> error_;
};

}  // namespace

Result<Json> WireToJson(const WireSchema& schema, const Message& message) {
  JsonWriter writer(schema);
  Json object = writer.Object(message);
  if (writer.error()) return *writer.error();
  return object;
}

}  // namespace kube
