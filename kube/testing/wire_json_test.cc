// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/wire_json.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/descriptor_database.h>
#include <google/protobuf/dynamic_message.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "kube/codec/fields.h"
#include "kube/testing/descriptors.h"
#include "kube/testing/encoded_field.h"
#include "kube/testing/matchers.h"
#include "kube/testing/wire_kinds.h"
#include "kube/types/coordination.pb.h"
#include "kube/types/core.pb.h"
#include "kube/types/workloads.pb.h"

namespace kube {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using testing::HasSubstr;

// What a field that a message does not know may contain.
constexpr int kUnknownField = 1000;

std::string TestDescriptors() {
  std::ifstream file("kube/testing/wire_json_test_proto-descriptor-set.proto.bin");
  std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return std::string(ApiDescriptors()) + bytes;
}

// Messages with all of their fields, made by their descriptors.
class Messages {
 public:
  Messages() {
    google::protobuf::FileDescriptorSet set;
    EXPECT_TRUE(set.ParseFromString(TestDescriptors()));
    files_ = set.file_size();
    for (const auto& file : set.file()) database_.Add(file);
    for (const auto& file : set.file()) {
      const auto* built = pool_.FindFileByName(file.name());
      for (int i = 0; i < built->message_type_count(); ++i)
        types_.push_back(built->message_type(i));
    }
  }

  int files() const { return files_; }
  const std::vector<const Descriptor*>& types() const { return types_; }

  // `empty`: scalars are set to empty values.
  std::unique_ptr<Message> Filled(const Descriptor* type, bool empty) {
    std::unique_ptr<Message> message(factory_.GetPrototype(type)->New());
    Fill(*message, empty);
    return message;
  }

 private:
  void Fill(Message& message, bool empty) {
    const Descriptor& type = *message.GetDescriptor();
    const Reflection& reflection = *message.GetReflection();
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor* field = type.field(i);
      int times = field->is_repeated() ? 2 : 1;
      for (int n = 0; n < times; ++n) FillField(message, field, n, empty);
    }
    if (type.name() == "IntOrString") reflection.SetInt64(&message, type.FindFieldByNumber(1), 1);
    // The other number of an IntOrString, and an unknown field, have no place in a value.
    if (type.name() == "IntOrString") reflection.ClearField(&message, type.FindFieldByNumber(2));
    bool is_value = type.name() == "Time" || type.name() == "Quantity" ||
                    type.name() == "IntOrString" || type.name() == "FieldsV1";
    if (!is_value && !type.options().map_entry()) {
      reflection.MutableUnknownFields(&message)->AddLengthDelimited(kUnknownField, "\xff\x01");
      reflection.MutableUnknownFields(&message)->AddVarint(kUnknownField + 1, 7);
    }
  }

  void FillField(Message& message, const FieldDescriptor* field, int number, bool empty) {
    const Reflection& reflection = *message.GetReflection();
    std::string text = empty ? "" : field->name() + std::to_string(number);
    bool repeated = field->is_repeated();
    switch (field->type()) {
      case FieldDescriptor::TYPE_STRING:
        // Keys of maps differ, and a Quantity has a text.
        if (field->containing_type()->options().map_entry() && field->number() == 1)
          text = "key" + std::to_string(keys_++);
        return repeated ? reflection.AddString(&message, field, text)
                        : reflection.SetString(&message, field, text);
      case FieldDescriptor::TYPE_BYTES:
        if (field->name() == "raw" && field->containing_type()->name() == "FieldsV1")
          text = R"({"f:spec":{"f:size":{}}})";
        if (field->name() == "managed_fields") {
          const Descriptor* entry = pool_.FindMessageTypeByName("kube.whole.ManagedFieldsEntry");
          text = number == 0 ? Filled(entry, empty)->SerializeAsString() : "\xff";
        }
        return repeated ? reflection.AddString(&message, field, text)
                        : reflection.SetString(&message, field, text);
      case FieldDescriptor::TYPE_BOOL:
        return reflection.SetBool(&message, field, !empty);
      case FieldDescriptor::TYPE_INT32:
        // Absent nanoseconds are 0.
        if (empty && field->name() == "nanos") return;
        return reflection.SetInt32(&message, field, empty ? 0 : 1'000'000);
      case FieldDescriptor::TYPE_INT64:
        return reflection.SetInt64(&message, field, empty ? 0 : 1'790'000'000);
      case FieldDescriptor::TYPE_MESSAGE:
        return Fill(repeated ? *reflection.AddMessage(&message, field)
                             : *reflection.MutableMessage(&message, field),
                    empty);
      default:
        FAIL() << field->full_name() << " has a type that the API does not use";
    }
  }

  google::protobuf::SimpleDescriptorDatabase database_;
  google::protobuf::DescriptorPool pool_{&database_};
  google::protobuf::DynamicMessageFactory factory_{&pool_};
  std::vector<const Descriptor*> types_;
  int files_ = 0;
  int keys_ = 0;
};

class WireJsonTest : public testing::Test {
 protected:
  template <class T>
  Json JsonOf(const std::string& type, const T& message) {
    Result<Json> json = wire_.ToJson(type, message.SerializeAsString());
    EXPECT_THAT(json, IsOk());
    return json ? *json : Json();
  }
  template <class T>
  T MessageOf(const std::string& type, const Json& json) {
    Result<std::string> bytes = wire_.ToWire(type, json);
    EXPECT_THAT(bytes, IsOk());
    T message;
    EXPECT_TRUE(bytes && message.ParseFromString(*bytes));
    return message;
  }
  // The JSON after a way to protobuf and back, through the C++ type that programs use.
  template <class T>
  Json ThereAndBack(const std::string& type, const Json& json) {
    return JsonOf(type, MessageOf<T>(type, json));
  }

  WireJson wire_{TestDescriptors()};
};

TEST_F(WireJsonTest, EveryMessageSurvivesJson) {
  Messages messages;
  EXPECT_EQ(messages.files(), 7) << "the files of kube/types, whole_kinds.proto and the test's";
  for (const Descriptor* type : messages.types()) {
    for (bool empty : {false, true}) {
      SCOPED_TRACE(type->full_name() + (empty ? " of empty values" : ""));
      // As a part of a kind, a value is no object.
      if (type->name() == "Time" || type->name() == "Quantity" || type->name() == "IntOrString" ||
          type->name() == "FieldsV1")
        continue;
      std::unique_ptr<Message> message = messages.Filled(type, empty);
      Result<Json> json = wire_.ToJson(type->full_name(), message->SerializeAsString());
      ASSERT_THAT(json, IsOk());
      Result<std::string> bytes = wire_.ToWire(type->full_name(), *json);
      ASSERT_THAT(bytes, IsOk());
      std::unique_ptr<Message> again(message->New());
      ASSERT_TRUE(again->ParseFromString(*bytes));
      EXPECT_EQ(again->DebugString(), message->DebugString()) << DumpJson(*json);
    }
  }
}

TEST_F(WireJsonTest, EveryKindHasItsMessage) {
  for (const WireKind& kind : WireKinds()) {
    Json object = {{"metadata", {{"name", "x"}}}, {"other", {{"a", 1}}}};
    Result<std::string> bytes = ApiWireJson().ToWire(kind.message, object);
    ASSERT_THAT(bytes, IsOk()) << kind.message;
    Result<Json> back = ApiWireJson().ToJson(kind.message, *bytes);
    ASSERT_THAT(back, IsOk());
    EXPECT_EQ(*back, object) << kind.message;
    EXPECT_EQ(FindWireKind(kind.resource.Path()), &kind);
    bytes = ApiWireJson().ToWire(kind.message, {{"status", {{"x", 1}}}});
    ASSERT_THAT(bytes, IsOk());
    FieldReader fields(*bytes);
    EXPECT_TRUE(fields.Next());
    EXPECT_EQ(fields.number() == kStatusField, kind.has_status) << kind.message;
  }
  EXPECT_EQ(FindWireKind("/apis/example.com/v1/widgets"), nullptr);
}

TEST_F(WireJsonTest, AMemberThatProtobufDoesNotKnowSurvives) {
  Json pod = MustParseJson(R"({
    "metadata": {"name": "web", "labels": {"a": "1"}, "other": [1, null, {"b": 0.5}],
      "managedFields": [{"manager": "kubectl", "operation": "Apply", "apiVersion": "v1",
        "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:hostname": {}}}}]},
    "spec": {"hostname": "h", "containers": [{"name": "c", "image": "r.io/a:1",
        "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}},
        "ports": [{"containerPort": 80}]}],
      "volumes": [{"name": "v", "image": {"reference": "r.io/data:1", "x": 1}},
                  {"name": "w", "emptyDir": {"sizeLimit": "1Mi"}}],
      "tolerations": [{"key": "k", "operator": "Exists", "tolerationSeconds": 0, "new": "n"}],
      "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [
          {"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]}], "z": true}]}}}},
    "status": {"phase": "Pending", "podIP": "10.0.0.1", "qosClass": "Burstable"}})");
  EXPECT_EQ(ThereAndBack<core::Pod>("kube.core.Pod", pod), pod);
  core::Pod message = MessageOf<core::Pod>("kube.core.Pod", pod);
  EXPECT_EQ(message.spec().containers(0).image(), "r.io/a:1");
  EXPECT_EQ(message.spec().volumes(0).source().image().reference(), "r.io/data:1");
  EXPECT_EQ(message.status().pod_ip(), "10.0.0.1");
  EXPECT_EQ(message.metadata().managed_fields_size(), 1);
  EXPECT_TRUE(message.spec().tolerations(0).has_toleration_seconds());
}

TEST_F(WireJsonTest, FieldsThatJsonDoesNotKnowSurvive) {
  core::Pod pod;
  pod.mutable_spec()->add_containers()->mutable_unknown_fields()->append(EncodedField(8, "cpu"));
  pod.mutable_spec()->add_volumes()->mutable_source()->mutable_unknown_fields()->append(
      EncodedField(2, "dir"));
  Json json = JsonOf("kube.core.Pod", pod);
  core::Pod back = MessageOf<core::Pod>("kube.core.Pod", json);
  EXPECT_EQ(back.SerializeAsString(), pod.SerializeAsString()) << DumpJson(json);
}

// Programs read them in protobuf, although kube/types does not name them in the kind.
TEST_F(WireJsonTest, TaintsOfANodeHaveTheirPlace) {
  Json node = MustParseJson(R"({"metadata": {"name": "n"}, "spec": {"podCIDR": "10.0.0.0/24",
    "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]},
    "status": {"allocatable": {"cpu": "4"}}})");
  Result<std::string> bytes = wire_.ToWire("kube.whole.Node", node);
  ASSERT_THAT(bytes, IsOk());
  workloads::NodeSpec spec;
  spec.add_taints()->set_key("k");
  spec.mutable_taints(0)->set_value("v");
  spec.mutable_taints(0)->set_effect("NoSchedule");
  EXPECT_THAT(*bytes, HasSubstr(spec.SerializeAsString()));
  EXPECT_EQ(ThereAndBack<core::Node>("kube.whole.Node", node), node);
}

TEST_F(WireJsonTest, TimesAreText) {
  coordination::Lease lease;
  lease.mutable_spec()->mutable_renew_time()->set_seconds(1'767'225'600);
  lease.mutable_metadata()->mutable_creation_timestamp()->set_seconds(1'767'225'600);
  Json json = JsonOf("kube.coordination.Lease", lease);
  EXPECT_EQ(StringAt(json, "spec.renewTime"), "2026-01-01T00:00:00.000000Z");
  EXPECT_EQ(StringAt(json, "metadata.creationTimestamp"), "2026-01-01T00:00:00Z");
  json["spec"]["renewTime"] = "2026-01-01T02:00:00.25+02:00";
  json["metadata"]["creationTimestamp"] = nullptr;
  lease = MessageOf<coordination::Lease>("kube.coordination.Lease", json);
  EXPECT_EQ(lease.spec().renew_time().seconds(), 1'767'225'600);
  EXPECT_EQ(lease.spec().renew_time().nanos(), 250'000'000);
  EXPECT_TRUE(lease.metadata().has_creation_timestamp());
  EXPECT_EQ(lease.metadata().creation_timestamp().ByteSizeLong(), 0u);
  EXPECT_EQ(JsonOf("kube.coordination.Lease", lease)["metadata"]["creationTimestamp"], Json());
  lease.mutable_spec()->mutable_renew_time()->set_nanos(123'456'789);
  json = JsonOf("kube.coordination.Lease", lease);
  EXPECT_EQ(StringAt(json, "spec.renewTime"), "2026-01-01T00:00:00.123456789Z");
  lease.mutable_spec()->mutable_renew_time()->set_seconds(-1);
  EXPECT_THAT(wire_.ToJson("kube.coordination.Lease", lease.SerializeAsString()),
              FailsWith(Code::kInvalid, HasSubstr("out of range")));
}

TEST_F(WireJsonTest, BytesAreBase64) {
  core::Secret secret;
  (*secret.mutable_data())["key"] = std::string("\0\xff", 2);
  Json json = JsonOf("kube.core.Secret", secret);
  EXPECT_EQ(StringAt(json, "data.key"), "AP8=");
  EXPECT_EQ(MessageOf<core::Secret>("kube.core.Secret", json).data().at("key"),
            std::string("\0\xff", 2));
}

TEST_F(WireJsonTest, QuantitiesAndPortsAreValues) {
  const std::string type = "kube.wire_json_test.Budget";
  Json budget = {{"limits", {{"cpu", "500m"}, {"memory", "1.5Gi"}}},
                 {"ports", Json::array({80, "http"})},
                 {"maxUnavailable", "25%"}};
  Result<std::string> bytes = wire_.ToWire(type, budget);
  ASSERT_THAT(bytes, IsOk());
  EXPECT_THAT(*bytes, HasSubstr(EncodedField(1, "500m")));
  Result<Json> back = wire_.ToJson(type, *bytes);
  ASSERT_THAT(back, IsOk());
  EXPECT_EQ(*back, budget);
  budget["limits"]["cpu"] = 2;  // a client may write a number
  back = wire_.ToJson(type, wire_.ToWire(type, budget).value());
  EXPECT_EQ(StringAt(*back, "limits.cpu"), "2");
}

TEST_F(WireJsonTest, ValuesOfAnotherTypeAreRefused) {
  auto refused = [&](const std::string& type, const char* json, const char* path) {
    EXPECT_THAT(wire_.ToWire(type, MustParseJson(json)),
                FailsWith(Code::kInvalid, HasSubstr(path)));
  };
  refused("kube.core.Pod", R"({"spec": {"nodeName": 1}})", "spec.nodeName");
  refused("kube.core.Pod", R"({"spec": {"containers": [{"name": true}]}})",
          "spec.containers[0].name");
  refused("kube.core.Pod", R"({"spec": {"containers": {}}})", "spec.containers");
  refused("kube.core.Pod", R"({"spec": []})", "spec");
  refused("kube.core.Pod", R"({"metadata": {"labels": {"a": 1}}})", "metadata.labels.a");
  refused("kube.core.Pod", R"({"metadata": {"creationTimestamp": "today"}})",
          "metadata.creationTimestamp");
  refused("kube.core.Secret", R"({"data": {"a": "%"}})", "data.a");
  refused("kube.wire_json_test.Budget", R"({"small": 4294967296})", "small");
  refused("kube.wire_json_test.Budget", R"({"maxUnavailable": 0.5})", "maxUnavailable");
  EXPECT_THAT(wire_.ToJson("kube.core.Pod", "\xff"), FailsWith(Code::kInvalid));
  EXPECT_THAT(wire_.ToJson("kube.core.Nothing", ""), FailsWith(Code::kInvalid));
}

TEST_F(WireJsonTest, AbsentIsNullAndEmpty) {
  Json pod = MustParseJson(
      R"({"metadata": {"labels": {}, "finalizers": []}, "spec": {"affinity": null}})");
  EXPECT_EQ(ThereAndBack<core::Pod>("kube.core.Pod", pod),
            MustParseJson(R"({"metadata": {}, "spec": {}})"));
}

TEST_F(WireJsonTest, TheSameObjectHasTheSameBytes) {
  Json secret = {{"metadata", {{"name", "s"}}}};
  for (int i = 0; i < 20; ++i) secret["metadata"]["labels"]["k" + std::to_string(i)] = "v";
  std::string bytes = wire_.ToWire("kube.core.Secret", secret).value();
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(WireJson(TestDescriptors()).ToWire("kube.core.Secret", secret).value(), bytes);
}

}  // namespace
}  // namespace kube
