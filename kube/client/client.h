// SPDX-License-Identifier: Apache-2.0
// Client: calls to one API server, below the level of types. typed.h is what most code uses.
//
// Everything is bounded: an answer by max_body_bytes, a call by its timeout, a watch's silence by
// its idle timeout. A call that the server throttled (429, or 503 with Retry-After) is tried again
// within its timeout. A call whose kept-alive connection was closed before a byte of the answer
// came is tried once more on a new one, unless it is a POST or a JSON or strategic merge patch that
// the server may have carried out. Thread: the executor that the client was made with; not
// thread-safe.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"

namespace kube {

enum class Method { kGet, kPost, kPut, kPatch, kDelete };

// "GET".
constexpr std::string_view MethodName(Method method) {
  switch (method) {
    case Method::kGet:
      return "GET";
    case Method::kPost:
      return "POST";
    case Method::kPut:
      return "PUT";
    case Method::kPatch:
      return "PATCH";
    case Method::kDelete:
      return "DELETE";
  }
  return "?";
}

inline constexpr std::string_view kProtobuf = "application/vnd.kubernetes.protobuf";
inline constexpr std::string_view kJson = "application/json";
inline constexpr std::string_view kJsonPatch = "application/json-patch+json";
inline constexpr std::string_view kMergePatch = "application/merge-patch+json";
inline constexpr std::string_view kStrategicMergePatch = "application/strategic-merge-patch+json";
inline constexpr std::string_view kApplyPatch = "application/apply-patch+yaml";

struct ApiRequest {
  Method method = Method::kGet;
  // Path and query, percent-encoded: "/api/v1/pods?limit=500".
  std::string target;
  std::string content_type;
  std::string accept = std::string(kJson);
  std::string body;
  // From the call to the last byte of the answer, retries included.
  std::chrono::milliseconds timeout{30'000};
};

// A 2xx answer; everything else is an Error that carries the API's Status.
struct ApiResponse {
  int status = 0;
  std::string content_type;
  std::string body;
};

// The frames of one watch: protobuf frames without their length prefix, or one JSON document each.
class WatchStream {
 public:
  virtual ~WatchStream() = default;

  // The next frame; nullopt when the server ended the watch in good order.
  // Errors: kUnavailable (connection lost), kDeadlineExceeded (silent for longer than the idle
  // timeout), kCancelled.
  virtual Async<std::optional<std::string>> Next() = 0;
};

class Client {
 public:
  virtual ~Client() = default;

  virtual Async<ApiResponse> Call(ApiRequest request) = 0;
  // Opens a watch: GET `target` (which has watch=true) and yields its frames. `request.timeout`
  // bounds the time until the answer's header only.
  virtual Async<std::unique_ptr<WatchStream>> Watch(ApiRequest request) = 0;
};

}  // namespace kube
