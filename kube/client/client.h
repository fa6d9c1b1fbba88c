// SPDX-License-Identifier: Apache-2.0
// Client: untyped calls to one API server. Most code uses typed.h.
//
// All resources are bounded: a response by max_body_bytes, a call by its timeout, the silence of a
// watch by its idle timeout. A throttled call (429, or 503 with Retry-After) is retried within its
// timeout. A call whose kept-alive connection closed before the first byte of the response is
// retried once on a new connection, except a POST, JSON patch or strategic merge patch: the server
// may have carried it out. Thread: the executor passed to NewClient(); not thread-safe.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/codec/content_type.h"

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

struct ApiRequest {
  Method method = Method::kGet;
  // Path and query, percent-encoded: "/api/v1/pods?limit=500".
  std::string target;
  std::string content_type;
  std::string accept = std::string(kJson);
  std::string body;
  // The value of the header Authorization, in place of the client's own credentials; "" for these.
  // A secret: never log it.
  std::string authorization = {};
  // From the call to the last byte of the response, retries included.
  std::chrono::milliseconds timeout{30'000};
};

// A 2xx response. Every other response becomes an Error with the content of its Status.
struct ApiResponse {
  int status = 0;
  std::string content_type;
  std::string body;
  // What the API server and its admission policies say to the user, in their order.
  std::vector<std::string> warnings = {};
};

// The frames of one watch: protobuf frames without their length prefix, or one JSON document each.
class WatchStream {
 public:
  virtual ~WatchStream() = default;

  // The next frame; nullopt when the server ended the watch normally.
  // Errors: kUnavailable (connection lost), kDeadlineExceeded (no bytes within the idle timeout),
  // kCancelled.
  virtual Async<std::optional<std::string>> Next() = 0;
};

class Client {
 public:
  virtual ~Client() = default;

  virtual Async<ApiResponse> Call(ApiRequest request) = 0;
  // Opens a watch: GET of a `target` with watch=true. `request.timeout` only bounds the time until
  // the response header.
  virtual Async<std::unique_ptr<WatchStream>> Watch(ApiRequest request) = 0;
};

}  // namespace kube
