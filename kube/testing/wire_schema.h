// SPDX-License-Identifier: Apache-2.0
// WireSchema: the messages of a descriptor set, and how each of their fields is named and written
// in JSON. Internal to WireJson.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor_database.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/message.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace kube {

// A message that JSON writes as a value.
enum class WireValue { kNone, kTime, kQuantity, kIntOrString, kFieldsV1 };

// The fields of the messages that JSON writes as values.
struct WireFields {
  static constexpr int kSeconds = 1, kNanos = 2;           // Time
  static constexpr int kQuantity = 1;                      // Quantity
  static constexpr int kKind = 1, kNumber = 2, kText = 3;  // IntOrString
  static constexpr int kNumberKind = 0, kTextKind = 1;
  static constexpr int kRaw = 1;  // FieldsV1
};

// The unknown field that has the JSON members of a message, and the member that has its unknown
// protobuf fields (WireJson).
inline constexpr int kJsonMembers = 15000;
inline constexpr char kProtobufFields[] = "unknownProtobufFields";

struct WireField {
  const google::protobuf::FieldDescriptor* field = nullptr;
  // The member of an inlined message: the field of that message.
  const google::protobuf::FieldDescriptor* inlined_in = nullptr;
};

class WireSchema {
 public:
  // Ends the process if the set lacks an import.
  explicit WireSchema(std::string_view descriptors);

  // An empty message, or nullptr for an unknown type. Valid as long as the schema.
  std::unique_ptr<google::protobuf::Message> New(const std::string& type) const;
  // The field of the JSON member `name`; without `field` if there is none.
  WireField Find(const google::protobuf::Descriptor& message, const std::string& name) const;

  static std::string NameOf(const google::protobuf::FieldDescriptor& field);
  static WireValue ValueOf(const google::protobuf::Descriptor& message);
  // Written in JSON with microseconds.
  static bool IsMicroTime(const google::protobuf::FieldDescriptor& field);
  // Its members are members of the message that contains it.
  static bool IsInlined(const google::protobuf::FieldDescriptor& field);
  // The type of the messages that a field of bytes contains; "" for other bytes.
  static std::string EncodedType(const google::protobuf::FieldDescriptor& field);

 private:
  void AddMembers(const google::protobuf::Descriptor& message);

  google::protobuf::SimpleDescriptorDatabase database_;
  google::protobuf::DescriptorPool pool_{&database_};
  mutable google::protobuf::DynamicMessageFactory factory_{&pool_};
  std::map<const google::protobuf::Descriptor*, std::map<std::string, WireField>> members_;
};

}  // namespace kube
