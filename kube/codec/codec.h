// SPDX-License-Identifier: Apache-2.0
// Codec: encodes and decodes API objects. Built-in kinds (protobuf messages) use the "k8s\0"
// envelope, structs with FromJson() and ToJson() use JSON. Fields unknown to a message survive
// Decode and Encode unchanged.
#pragma once

#include <google/protobuf/message_lite.h>

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/error.h"
#include "kube/codec/content_type.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace kube {

template <class T>
concept ProtobufKind = std::derived_from<T, google::protobuf::MessageLite>;

// The Accept and Content-Type headers for a T.
template <class T>
inline constexpr std::string_view kContentType = ProtobufKind<T> ? kProtobuf : kJson;
template <class T>
inline constexpr std::string_view kWatchAccept =
    ProtobufKind<T> ? std::string_view("application/vnd.kubernetes.protobuf;stream=watch") : kJson;

// Errors: kInvalid unless `body` is a "k8s\0" envelope.
Result<meta::Unknown> OpenEnvelope(std::string_view body);
std::string SealEnvelope(const Resource& resource, const google::protobuf::MessageLite& message);
Result<void> ParseMessage(std::string_view bytes, google::protobuf::MessageLite& message);

// A list whose items are still encoded: a protobuf message or JSON text each.
struct RawList {
  std::string resource_version;
  std::string continue_token;
  std::vector<std::string> items;
};
Result<RawList> DecodeProtobufList(std::string_view body);
Result<RawList> DecodeJsonList(std::string_view body);

// One event of a watch. `type` is ADDED, MODIFIED, DELETED or BOOKMARK; an ERROR event is returned
// as an Error.
template <class T>
struct WatchEvent {
  std::string type;
  T object;
};
struct RawWatchEvent {
  std::string type;
  std::string_view object;  // the object's message without its envelope, inside the frame
};
// Errors: the Status of an ERROR frame (kExpired: list again); kInvalid for a malformed frame.
Result<RawWatchEvent> DecodeProtobufFrame(std::string_view frame);

// The error of a failed response: of its Status in either encoding, or of the HTTP status alone.
Error DecodeStatus(int http_status, std::string_view content_type, std::string_view body);

template <class T>
Result<T> DecodeBare(std::string_view bytes) {
  if constexpr (ProtobufKind<T>) {
    T object;
    Result<void> parsed = ParseMessage(bytes, object);
    if (!parsed) return parsed.error();
    return object;
  } else {
    Result<Json> json = ParseJson(bytes);
    if (!json) return json.error();
    return T::FromJson(std::move(*json));
  }
}

template <class T>
Result<T> Decode(std::string_view body) {
  if constexpr (ProtobufKind<T>) {
    Result<meta::Unknown> envelope = OpenEnvelope(body);
    if (!envelope) return envelope.error();
    return DecodeBare<T>(envelope->raw());
  } else {
    return DecodeBare<T>(body);
  }
}

template <class T>
std::string Encode(const T& object) {
  if constexpr (ProtobufKind<T>) {
    return SealEnvelope(ResourceOf<T>::value, object);
  } else {
    return DumpJson(object.ToJson());
  }
}

template <class T>
Result<WatchEvent<T>> DecodeFrame(std::string_view frame) {
  if constexpr (ProtobufKind<T>) {
    Result<RawWatchEvent> raw = DecodeProtobufFrame(frame);
    if (!raw) return raw.error();
    Result<T> object = DecodeBare<T>(raw->object);
    if (!object) return object.error();
    return WatchEvent<T>{std::move(raw->type), std::move(*object)};
  } else {
    Result<Json> json = ParseJson(frame);
    if (!json) return json.error();
    std::string type = StringAt(*json, "type");
    const Json* payload = Find(*json, "object");
    if (payload == nullptr) return Error::Invalid("watch event without object");
    if (type == "ERROR")
      return DecodeStatus(static_cast<int>(IntAt(*payload, "code", 500)), kJson,
                          DumpJson(*payload));
    Result<T> object = T::FromJson(*payload);
    if (!object) return object.error();
    return WatchEvent<T>{std::move(type), std::move(*object)};
  }
}

}  // namespace kube
