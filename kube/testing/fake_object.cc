// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/fake_object.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "kube/base/clock.h"
#include "kube/codec/codec.h"
#include "kube/types/core.pb.h"
#include "kube/types/workloads.pb.h"

namespace kube {
namespace {

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Splits "a=b,c in (d,e)" at the commas outside of parentheses.
std::vector<std::string_view> SplitSelector(std::string_view selector) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= selector.size(); ++i) {
    if (i < selector.size() && selector[i] == '(') ++depth;
    if (i < selector.size() && selector[i] == ')') --depth;
    if (i < selector.size() && (selector[i] != ',' || depth > 0)) continue;
    std::string_view part = Trim(selector.substr(begin, i - begin));
    if (!part.empty()) parts.push_back(part);
    begin = i + 1;
  }
  return parts;
}

struct Term {
  std::string key;
  bool negated = false;
  std::string value;
};

// "a=b", "a==b" or "a!=b"; false for anything else.
bool ParseEquality(std::string_view text, Term& term) {
  size_t at = text.find('=');
  if (at == std::string_view::npos) return false;
  std::string_view key = text.substr(0, at);
  std::string_view value = text.substr(at + 1);
  term.negated = key.ends_with('!');
  if (term.negated) key.remove_suffix(1);
  if (value.starts_with('=')) value.remove_prefix(1);
  term.key = Trim(key);
  term.value = Trim(value);
  return true;
}

bool IsListed(std::string_view list, const std::string& value) {
  list = Trim(list);
  if (list.starts_with('(')) list.remove_prefix(1);
  if (list.ends_with(')')) list.remove_suffix(1);
  for (std::string_view item : SplitSelector(list)) {
    if (item == value) return true;
  }
  return false;
}

bool MatchesLabel(const google::protobuf::Map<std::string, std::string>& labels,
                  std::string_view text) {
  Term term;
  if (ParseEquality(text, term)) {
    auto label = labels.find(term.key);
    return (label != labels.end() && label->second == term.value) != term.negated;
  }
  size_t word = text.find(" in ");
  size_t negated_word = text.find(" notin ");
  if (negated_word != std::string_view::npos) {
    auto label = labels.find(std::string(Trim(text.substr(0, negated_word))));
    return label == labels.end() || !IsListed(text.substr(negated_word + 7), label->second);
  }
  if (word != std::string_view::npos) {
    auto label = labels.find(std::string(Trim(text.substr(0, word))));
    return label != labels.end() && IsListed(text.substr(word + 4), label->second);
  }
  if (text.starts_with('!')) return !labels.contains(std::string(Trim(text.substr(1))));
  return labels.contains(std::string(text));
}

void SetTime(Json& metadata, const char* name, bool present, const meta::Time& time) {
  if (present) metadata[name] = FormatTime(WallTime(std::chrono::seconds(time.seconds())));
}

// The same bytes for each encoding of one content, with maps in the order of their keys.
std::string Canonical(google::protobuf::MessageLite& message, const std::string& bytes) {
  if (!message.ParsePartialFromString(bytes)) return bytes;
  std::string canonical;
  {
    google::protobuf::io::StringOutputStream stream(&canonical);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message.SerializePartialToCodedStream(&coded);
  }
  return canonical;
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

Result<FakeObject> FakeObject::Parse(std::string_view content_type, std::string_view body) {
  FakeObject object;
  object.protobuf_ = content_type.starts_with(kProtobuf);
  if (object.protobuf_) {
    Result<meta::Unknown> envelope = OpenEnvelope(body);
    if (!envelope) return envelope.error();
    object.api_version_ = envelope->type_meta().api_version();
    object.kind_ = envelope->type_meta().kind();
    object.bytes_ = std::move(*envelope->mutable_raw());
    meta::PartialObject partial;
    Result<void> parsed = ParseMessage(object.bytes_, partial);
    if (!parsed) return parsed.error();
    return object;
  }
  Result<Json> json = ParseJson(body);
  if (!json) return json.error();
  if (!json->is_object()) return Error::Invalid("the body is not an object");
  object.kind_ = StringAt(*json, "kind");
  object.json_ = std::move(*json);
  return object;
}

meta::ObjectMeta FakeObject::metadata() const {
  if (!protobuf_) return MetadataFromJson(json_);
  meta::PartialObject partial;
  partial.ParseFromString(bytes_);
  return partial.metadata();
}

void FakeObject::SetMetadata(const meta::ObjectMeta& metadata) {
  if (protobuf_) {
    // Fields that PartialObject does not declare stay in its unknown fields.
    meta::PartialObject partial;
    partial.ParseFromString(bytes_);
    *partial.mutable_metadata() = metadata;
    partial.SerializeToString(&bytes_);
    return;
  }
  Json& out = json_["metadata"];
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
}

Result<bool> FakeObject::MatchesFields(std::string_view selector) const {
  if (selector.empty()) return true;
  core::Pod pod;
  if (protobuf_ && kind_ == "Pod") pod.ParseFromString(bytes_);
  meta::ObjectMeta meta = metadata();
  for (std::string_view part : SplitSelector(selector)) {
    Term term;
    if (!ParseEquality(part, term)) return Error::Invalid("field selector " + std::string(part));
    std::string value;
    if (term.key == "metadata.name") {
      value = meta.name();
    } else if (term.key == "metadata.namespace") {
      value = meta.namespace_();
    } else if (!protobuf_) {
      value = StringAt(json_, term.key);
    } else if (kind_ == "Pod" && term.key == "spec.nodeName") {
      value = pod.spec().node_name();
    } else if (kind_ == "Pod" && term.key == "status.phase") {
      value = pod.status().phase();
    } else if (kind_ == "Job" && term.key == "status.successful") {
      value = "0";  // no job of a test has a successful pod
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

std::string FakeObject::Bare() const { return protobuf_ ? bytes_ : DumpJson(json_); }

std::string FakeObject::Body() const {
  return protobuf_ ? SealFakeEnvelope(api_version_, kind_, bytes_) : DumpJson(json_);
}

bool FakeObject::operator==(const FakeObject& other) const {
  if (protobuf_ != other.protobuf_ || json_ != other.json_) return false;
  return bytes_ == other.bytes_ ||
         (kind_ == other.kind_ && Canonical(kind_, bytes_) == Canonical(kind_, other.bytes_));
}

}  // namespace kube
