// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/fake_object.h"

#include <vector>

#include "kube/base/clock.h"
#include "kube/codec/codec.h"
#include "kube/codec/fields.h"
#include "kube/testing/fake_selector.h"
#include "kube/testing/serialize_in_order.h"
#include "kube/types/core.pb.h"
#include "kube/types/workloads.pb.h"

namespace kube {
namespace {

void SetTime(Json& metadata, const char* name, bool present, const meta::Time& time) {
  if (present) metadata[name] = FormatTime(WallTime(std::chrono::seconds(time.seconds())));
}

// The encoded status of an object, or its other fields.
std::string FieldsOf(std::string_view bytes, bool status) {
  std::string fields;
  FieldReader reader(bytes);
  while (reader.Next()) {
    if ((reader.number() == kStatusField) == status) fields += reader.whole();
  }
  return fields;
}

Error NotAcceptable(const std::string& kind, const std::string& encoding) {
  return Error::FromHttpStatus(406, "NotAcceptable", kind + " does not exist as " + encoding);
}

// The same bytes for each encoding of one content.
std::string Canonical(google::protobuf::MessageLite& message, const std::string& bytes) {
  return message.ParsePartialFromString(bytes) ? SerializeInOrder(message) : bytes;
}

template <class T>
std::string Canonical(const std::string& bytes) {
  T message;
  return Canonical(message, bytes);
}

// The types of the kinds that have maps outside of their metadata.
std::string Canonical(const std::string& kind, const std::string& bytes) {
  if (kind == "Pod") return Canonical<core::Pod>(bytes);
  if (kind == "Secret") return Canonical<core::Secret>(bytes);
  if (kind == "ConfigMap") return Canonical<core::ConfigMap>(bytes);
  if (kind == "Job") return Canonical<workloads::Job>(bytes);
  if (kind == "DaemonSet") return Canonical<workloads::DaemonSet>(bytes);
  return Canonical<meta::PartialObject>(bytes);
}

}  // namespace

std::string SealFakeEnvelope(std::string_view api_version, std::string_view kind, std::string raw) {
  meta::Unknown envelope;
  envelope.mutable_type_meta()->set_api_version(std::string(api_version));
  envelope.mutable_type_meta()->set_kind(std::string(kind));
  envelope.set_raw(std::move(raw));
  std::string body("k8s\0", 4);
  envelope.AppendPartialToString(&body);
  return body;
}

FakeObject::FakeObject(Content content) : content_(std::make_shared<Content>(std::move(content))) {}

Result<FakeObject> FakeObject::Parse(std::string_view collection, std::string_view content_type,
                                     std::string_view body) {
  Content content{.protobuf = content_type.starts_with(kProtobuf),
                  .wire = FindWireKind(collection)};
  if (content.protobuf) {
    Result<meta::Unknown> envelope = OpenEnvelope(body);
    if (!envelope) return envelope.error();
    content.api_version = envelope->type_meta().api_version();
    content.kind = envelope->type_meta().kind();
    meta::PartialObject partial;
    Result<void> parsed = ParseMessage(envelope->raw(), partial);
    if (!parsed) return parsed.error();
    content.bytes = std::move(*envelope->mutable_raw());
    return FakeObject(std::move(content));
  }
  Result<Json> json = ParseJson(body);
  if (!json) return json.error();
  if (!json->is_object()) return Error::Invalid("the body is not an object");
  content.api_version = StringAt(*json, "apiVersion");
  content.kind = StringAt(*json, "kind");
  content.json = std::make_shared<const Json>(std::move(*json));
  return FakeObject(std::move(content));
}

meta::ObjectMeta FakeObject::metadata() const {
  if (!protobuf()) return MetadataFromJson(*content_->json);
  meta::PartialObject partial;
  partial.ParseFromString(*content_->bytes);
  return partial.metadata();
}

void FakeObject::SetMetadata(const meta::ObjectMeta& metadata) {
  Content content = *content_;
  if (protobuf()) {
    // Fields that PartialObject does not declare stay in its unknown fields.
    meta::PartialObject partial;
    partial.ParseFromString(*content.bytes);
    *partial.mutable_metadata() = metadata;
    content.bytes = SerializeInOrder(partial);
    content.json = nullptr;
    *this = FakeObject(std::move(content));
    return;
  }
  Json json = *content.json;
  Json& out = json["metadata"];
  if (!out.is_object()) out = Json::object();
  out["name"] = metadata.name();
  if (!metadata.namespace_().empty()) out["namespace"] = metadata.namespace_();
  out["uid"] = metadata.uid();
  out["resourceVersion"] = metadata.resource_version();
  out["generation"] = metadata.generation();
  SetTime(out, "creationTimestamp", metadata.has_creation_timestamp(),
          metadata.creation_timestamp());
  SetTime(out, "deletionTimestamp", metadata.has_deletion_timestamp(),
          metadata.deletion_timestamp());
  content.json = std::make_shared<const Json>(std::move(json));
  content.bytes.reset();
  *this = FakeObject(std::move(content));
}

Result<std::shared_ptr<const Json>> FakeObject::AsJson() const {
  if (content_->json != nullptr) return content_->json;
  const WireKind* wire = content_->wire;
  if (wire == nullptr) return NotAcceptable(kind(), "JSON");
  Result<Json> json = ApiWireJson().ToJson(wire->message, *content_->bytes);
  if (!json) return json.error();
  (*json)["apiVersion"] = content_->api_version;
  (*json)["kind"] = content_->kind;
  content_->json = std::make_shared<const Json>(std::move(*json));
  return content_->json;
}

Result<std::string> FakeObject::Encoded(const Content& content, const Json& json) {
  if (content.wire == nullptr) return NotAcceptable(content.kind, "protobuf");
  Json object = json;
  object.erase("apiVersion");
  object.erase("kind");
  return ApiWireJson().ToWire(content.wire->message, object);
}

Result<std::string_view> FakeObject::AsBytes() const {
  if (!content_->bytes) {
    Result<std::string> bytes = Encoded(*content_, *content_->json);
    if (!bytes) return bytes.error();
    content_->bytes = std::move(*bytes);
  }
  return std::string_view(*content_->bytes);
}

Result<FakeObject> FakeObject::WithJson(Json json) const {
  Content content = *content_;
  content.bytes.reset();
  if (content.protobuf) {
    Result<std::string> bytes = Encoded(content, json);
    if (!bytes) return bytes.error();
    content.bytes = std::move(*bytes);
  }
  content.json = std::make_shared<const Json>(std::move(json));
  return FakeObject(std::move(content));
}

Result<FakeObject> FakeObject::WithStatusOf(const FakeObject& other) const {
  if (protobuf()) {
    if (content_->wire == nullptr || !content_->wire->has_status) return *this;
    Result<std::string_view> others = other.AsBytes();
    if (!others) return others.error();
    Content content = *content_;
    content.bytes =
        FieldsOf(*content_->bytes, /*status=*/false) + FieldsOf(*others, /*status=*/true);
    content.json = nullptr;
    return FakeObject(std::move(content));
  }
  Result<std::shared_ptr<const Json>> source = other.AsJson();
  if (!source) return source.error();
  Json json = *content_->json;
  json.erase("status");
  if ((*source)->contains("status")) json["status"] = (*source)->at("status");
  return WithJson(std::move(json));
}

Result<bool> FakeObject::MatchesFields(std::string_view selector) const {
  if (selector.empty()) return true;
  core::Pod pod;
  if (protobuf() && kind() == "Pod") pod.ParseFromString(*content_->bytes);
  meta::ObjectMeta meta = metadata();
  for (std::string_view part : SplitSelector(selector)) {
    SelectorTerm term;
    if (!ParseEquality(part, term)) return Error::Invalid("field selector " + std::string(part));
    std::string value;
    if (term.key == "metadata.name") {
      value = meta.name();
    } else if (term.key == "metadata.namespace") {
      value = meta.namespace_();
    } else if (kind() == "Job" && term.key == "status.successful") {
      Result<std::shared_ptr<const Json>> json = AsJson();
      if (!json) return json.error();
      value = std::to_string(IntAt(**json, "status.succeeded"));
    } else if (!protobuf()) {
      value = StringAt(*content_->json, term.key);
    } else if (kind() == "Pod" && term.key == "spec.nodeName") {
      value = pod.spec().node_name();
    } else if (kind() == "Pod" && term.key == "status.phase") {
      value = pod.status().phase();
    } else if (kind() == "Event" && term.key == "involvedObject.uid") {
      core::Event event;
      event.ParseFromString(*content_->bytes);
      value = event.involved_object().uid();
    } else {
      return Error::FromHttpStatus(400, "BadRequest", "field label not supported: " + term.key);
    }
    if ((value == term.value) == term.negated) return false;
  }
  return true;
}

bool FakeObject::MatchesLabels(std::string_view selector) const {
  meta::ObjectMeta meta = metadata();
  for (std::string_view part : SplitSelector(selector)) {
    if (!MatchesLabel(meta.labels(), part)) return false;
  }
  return true;
}

Result<std::string> FakeObject::Bare(bool as_protobuf) const {
  if (as_protobuf) {
    Result<std::string_view> bytes = AsBytes();
    if (!bytes) return bytes.error();
    return std::string(*bytes);
  }
  Result<std::shared_ptr<const Json>> json = AsJson();
  if (!json) return json.error();
  return DumpJson(**json);
}

Result<std::string> FakeObject::Body(bool as_protobuf) const {
  Result<std::string> bare = Bare(as_protobuf);
  if (!bare || !as_protobuf) return bare;
  if (protobuf()) return SealFakeEnvelope(content_->api_version, kind(), std::move(*bare));
  const Resource& resource = content_->wire->resource;
  return SealFakeEnvelope(resource.ApiVersion(), resource.kind, std::move(*bare));
}

bool FakeObject::operator==(const FakeObject& other) const {
  if (content_ == other.content_) return true;
  if (protobuf() && other.protobuf()) {
    const std::string& mine = *content_->bytes;
    const std::string& others = *other.content_->bytes;
    return mine == others || Canonical(kind(), mine) == Canonical(kind(), others);
  }
  Result<std::shared_ptr<const Json>> mine = AsJson();
  Result<std::shared_ptr<const Json>> others = other.AsJson();
  return mine && others && **mine == **others;
}

}  // namespace kube
