// SPDX-License-Identifier: Apache-2.0
#include "kube/codec/codec.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <limits>
#include <utility>

#include "kube/codec/fields.h"

namespace kube {
namespace {

constexpr std::string_view kMagic("k8s\0", 4);

constexpr int kEventType = meta::WatchEvent::kTypeFieldNumber;
constexpr int kEventObject = meta::WatchEvent::kObjectFieldNumber;
constexpr int kExtensionRaw = meta::RawExtension::kRawFieldNumber;
constexpr int kEnvelopeRaw = meta::Unknown::kRawFieldNumber;

// Finds fields of `message` without copying; a missing field leaves its view unchanged.
Result<void> ReadFields(std::string_view message,
                        std::initializer_list<std::pair<int, std::string_view*>> wanted) {
  FieldReader fields(message);
  while (fields.Next()) {
    for (const auto& [number, bytes] : wanted) {
      if (fields.number() == number) *bytes = fields.bytes();
    }
  }
  if (fields.broken()) return Error::Invalid("malformed watch event");
  return Ok();
}

Error StatusError(int http_status, const meta::Status& status) {
  int code = status.has_code() && status.code() >= 400 ? status.code() : http_status;
  std::string message =
      status.message().empty() ? "HTTP " + std::to_string(code) : status.message();
  std::vector<Cause> causes;
  for (const meta::StatusCause& cause : status.details().causes()) {
    if (causes.size() == Error::kMaxCauses) break;
    causes.push_back({cause.reason(), cause.message(), cause.field()});
  }
  Error error = Error::FromHttpStatus(code, status.reason(), std::move(message))
                    .WithCauses(std::move(causes));
  int32_t retry = status.details().retry_after_seconds();
  return retry > 0 ? error.WithRetryAfter(std::chrono::seconds(retry)) : error;
}

// The text of a JSON list: the objects of its array "items", and the list without them.
struct JsonItems {
  std::vector<std::string> items;
  std::string rest;
};

// Finds the items by brackets and strings alone: what is no JSON is an error of whoever parses the
// rest, or the item. Errors: kInvalid if the array has anything but objects.
Result<JsonItems> CutItems(std::string_view body) {
  constexpr int kInItems = 2;  // the depth of the array's values
  JsonItems cut;
  int depth = 0;
  bool in_items = false;
  size_t begin = 0;         // of the item, or of the string
  std::string_view string;  // the last one of the list itself
  size_t kept = 0;          // up to here, the text is in an item or in `rest`
  for (size_t i = 0; i < body.size(); ++i) {
    char c = body[i];
    if (c == '"') {
      size_t first = ++i;
      while (i < body.size() && body[i] != '"') i += body[i] == '\\' ? 2 : 1;
      if (depth == 1) string = body.substr(first, std::min(i, body.size()) - first);
      if (in_items && depth == kInItems) return Error::Invalid("a list's item is no object");
    } else if (c == '{' || c == '[') {
      if (in_items && depth == kInItems) {
        if (c == '[') return Error::Invalid("a list's item is no object");
        begin = i;
      }
      ++depth;
      if (c == '[' && depth == kInItems && string == "items") {
        in_items = true;
        cut.rest += body.substr(kept, i + 1 - kept);
        kept = i + 1;
      }
    } else if (c == '}' || c == ']') {
      --depth;
      if (in_items && depth == kInItems) {
        cut.items.emplace_back(body.substr(begin, i + 1 - begin));
        kept = i + 1;
      } else if (in_items && depth == 1) {
        in_items = false;
        kept = i;
      }
    } else if (in_items && depth == kInItems &&
               std::string_view(", \t\r\n").find(c) == std::string_view::npos) {
      return Error::Invalid("a list's item is no object");
    }
  }
  cut.rest += body.substr(kept);
  return cut;
}

}  // namespace

Result<void> ParseMessage(std::string_view bytes, google::protobuf::MessageLite& message) {
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max()) ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Error::Invalid(message.GetTypeName() + " is malformed");
  }
  return Ok();
}

Result<meta::Unknown> OpenEnvelope(std::string_view body) {
  if (!body.starts_with(kMagic)) return Error::Invalid("not a Kubernetes protobuf body");
  meta::Unknown envelope;
  Result<void> parsed = ParseMessage(body.substr(kMagic.size()), envelope);
  if (!parsed) return parsed.error();
  return envelope;
}

std::string SealEnvelope(const Resource& resource, const google::protobuf::MessageLite& message) {
  meta::Unknown envelope;
  envelope.mutable_type_meta()->set_api_version(resource.ApiVersion());
  envelope.mutable_type_meta()->set_kind(std::string(resource.kind));
  // Partial: the messages have no required fields.
  message.SerializePartialToString(envelope.mutable_raw());
  std::string body(kMagic);
  envelope.AppendPartialToString(&body);
  return body;
}

Result<RawList> DecodeProtobufList(std::string_view body) {
  // Without intermediate copies: a page of large objects is in memory twice, not four times.
  if (!body.starts_with(kMagic)) return Error::Invalid("not a Kubernetes protobuf body");
  std::string_view list;
  FieldReader envelope(body.substr(kMagic.size()));
  while (envelope.Next()) {
    if (envelope.number() == kEnvelopeRaw) list = envelope.bytes();
  }
  RawList raw;
  meta::ListMeta metadata;
  Result<void> parsed = Ok();
  FieldReader fields(list);
  while (fields.Next()) {
    if (fields.number() == meta::List::kMetadataFieldNumber)
      parsed = ParseMessage(fields.bytes(), metadata);
    if (fields.number() == meta::List::kItemsFieldNumber) raw.items.emplace_back(fields.bytes());
  }
  if (envelope.broken() || fields.broken()) return Error::Invalid("malformed list");
  if (!parsed) return parsed.error();
  raw.resource_version = metadata.resource_version();
  raw.continue_token = metadata.continue_token();
  return raw;
}

Result<RawList> DecodeJsonList(std::string_view body) {
  // A page has megabytes, and as a tree many times that: the items stay text.
  Result<JsonItems> cut = CutItems(body);
  if (!cut) return cut.error();
  Result<Json> json = ParseJson(cut->rest);
  if (!json) return json.error();
  const Json* items = Find(*json, "items");
  if (items != nullptr && !items->is_null() && !items->is_array())
    return Error::Invalid("list without an items array");
  return RawList{.resource_version = StringAt(*json, "metadata.resourceVersion"),
                 .continue_token = StringAt(*json, "metadata.continue"),
                 .items = std::move(cut->items)};
}

Result<RawWatchEvent> DecodeProtobufFrame(std::string_view frame) {
  // Without intermediate copies: a controller decodes mostly watch events.
  std::string_view type;
  std::string_view extension;
  Result<void> read = ReadFields(frame, {{kEventType, &type}, {kEventObject, &extension}});
  std::string_view body;
  if (read) read = ReadFields(extension, {{kExtensionRaw, &body}});
  if (!read) return read.error();
  if (!body.starts_with(kMagic)) return Error::Invalid("not a Kubernetes protobuf body");
  std::string_view object;
  read = ReadFields(body.substr(kMagic.size()), {{kEnvelopeRaw, &object}});
  if (!read) return read.error();
  if (type == "ERROR") {
    meta::Status status;
    Result<void> status_parsed = ParseMessage(object, status);
    if (!status_parsed) return status_parsed.error();
    return StatusError(500, status);
  }
  return RawWatchEvent{std::string(type), object};
}

Error DecodeStatus(int http_status, std::string_view content_type, std::string_view body) {
  meta::Status status;
  if (content_type.starts_with(kProtobuf)) {
    Result<meta::Unknown> envelope = OpenEnvelope(body);
    if (envelope && ParseMessage(envelope->raw(), status)) return StatusError(http_status, status);
  } else if (Result<Json> json = ParseJson(body); json && json->is_object()) {
    status.set_message(StringAt(*json, "message"));
    status.set_reason(StringAt(*json, "reason"));
    status.set_code(static_cast<int32_t>(IntAt(*json, "code")));
    status.mutable_details()->set_retry_after_seconds(
        static_cast<int32_t>(IntAt(*json, "details.retryAfterSeconds")));
    if (const Json* causes = Find(*json, "details.causes");
        causes != nullptr && causes->is_array()) {
      for (size_t i = 0; i < std::min(causes->size(), Error::kMaxCauses); ++i) {
        meta::StatusCause& cause = *status.mutable_details()->add_causes();
        cause.set_reason(StringAt((*causes)[i], "reason"));
        cause.set_message(StringAt((*causes)[i], "message"));
        cause.set_field(StringAt((*causes)[i], "field"));
      }
    }
    return StatusError(http_status, status);
  }
  constexpr size_t kShown = 200;
  std::string message = "HTTP " + std::to_string(http_status);
  if (!body.empty() && content_type.starts_with("text/"))
    message += ": " + std::string(body.substr(0, kShown));
  return Error::FromHttpStatus(http_status, "", std::move(message));
}

}  // namespace kube
