// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/wire_schema.h"

#include <glog/logging.h>
#include <google/protobuf/descriptor.pb.h>

namespace kube {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using google::protobuf::Message;

}  // namespace

WireSchema::WireSchema(std::string_view descriptors) {
  google::protobuf::FileDescriptorSet set;
  CHECK(set.ParseFromArray(descriptors.data(), static_cast<int>(descriptors.size())));
  for (const auto& file : set.file()) CHECK(database_.Add(file)) << file.name();
  for (const auto& file : set.file()) {
    const FileDescriptor* built = pool_.FindFileByName(file.name());
    CHECK(built != nullptr) << file.name();
    for (int i = 0; i < built->message_type_count(); ++i) AddMembers(*built->message_type(i));
  }
}

void WireSchema::AddMembers(const Descriptor& message) {
  auto& members = members_[&message];
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor* field = message.field(i);
    if (!IsInlined(*field)) {
      members[NameOf(*field)] = {field, nullptr};
      continue;
    }
    const Descriptor& inner = *field->message_type();
    for (int j = 0; j < inner.field_count(); ++j)
      members[NameOf(*inner.field(j))] = {inner.field(j), field};
  }
}

std::unique_ptr<Message> WireSchema::New(const std::string& type) const {
  const Descriptor* descriptor = pool_.FindMessageTypeByName(type);
  if (descriptor == nullptr) return nullptr;
  return std::unique_ptr<Message>(factory_.GetPrototype(descriptor)->New());
}

WireField WireSchema::Find(const Descriptor& message, const std::string& name) const {
  auto members = members_.find(&message);
  if (members == members_.end()) return {};
  auto member = members->second.find(name);
  return member == members->second.end() ? WireField() : member->second;
}

std::string WireSchema::NameOf(const FieldDescriptor& field) {
  if (field.full_name() == "kube.core.PodStatus.pod_ip") return "podIP";
  return field.json_name();
}

WireValue WireSchema::ValueOf(const Descriptor& message) {
  if (message.name() == "Time") return WireValue::kTime;
  if (message.name() == "Quantity") return WireValue::kQuantity;
  if (message.name() == "IntOrString") return WireValue::kIntOrString;
  if (message.name() == "FieldsV1") return WireValue::kFieldsV1;
  return WireValue::kNone;
}

bool WireSchema::IsMicroTime(const FieldDescriptor& field) {
  const std::string& name = field.full_name();
  return name == "kube.coordination.LeaseSpec.acquire_time" ||
         name == "kube.coordination.LeaseSpec.renew_time" || name == "kube.core.Event.event_time";
}

bool WireSchema::IsInlined(const FieldDescriptor& field) {
  return field.full_name() == "kube.core.Volume.source";
}

std::string WireSchema::EncodedType(const FieldDescriptor& field) {
  return field.full_name() == "kube.meta.ObjectMeta.managed_fields"
             ? "kube.whole.ManagedFieldsEntry"
             : "";
}

}  // namespace kube
