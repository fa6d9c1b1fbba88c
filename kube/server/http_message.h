// SPDX-License-Identifier: Apache-2.0
// Requests and replies as the handlers of an HttpsServer see them.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "kube/base/async.h"

namespace kube {

struct HttpCall {
  std::string method;
  // Without the query; not percent-decoded.
  std::string path;
  std::string body;
  // The value of the Authorization header, "" for none. A secret: never log it.
  std::string authorization = {};
  // Frees the body's part of the server's memory for bodies, if set. For a handler that has freed
  // `body` and waits for something else; to be called before the reply.
  std::function<void()> release = {};
};

struct HttpReply {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
};

// An Error, or an exception, becomes a reply with status 500.
using HttpHandler = std::function<Async<HttpReply>(HttpCall)>;

// A failure as a meta/v1 Status, which Kubernetes clients can display.
HttpReply FailureReply(int status, std::string_view message);

}  // namespace kube
