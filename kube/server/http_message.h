// SPDX-License-Identifier: Apache-2.0
// Requests and replies as the handlers of an HttpsServer see them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/base/async.h"

namespace kube {

struct HttpCall {
  std::string method;
  // Without the query; not percent-decoded.
  std::string path;
  std::string body;
  // The value of the Authorization header, "" for none. A secret: never log it.
  std::string authorization = {};
  // Those of HttpsServerOptions::kept_headers that the request has, by the name in that list. They
  // may be secrets: never log them.
  std::map<std::string, std::string> headers = {};
  // After the "?"; not percent-decoded.
  std::string query = {};
  // Frees the body's part of the server's memory for bodies, if set. For a handler that has freed
  // `body` and waits for something else; to be called before the reply.
  std::function<void()> release = {};
};

struct HttpReply {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  // Besides Content-Type, Content-Length and Connection. Without line ends.
  std::vector<std::pair<std::string, std::string>> headers = {};
  // Destroyed when the client has received the reply, or its connection is closed: for what the
  // memory of the body counts against.
  std::shared_ptr<void> hold = {};
};

// An Error, or an exception, becomes a reply with status 500.
using HttpHandler = std::function<Async<HttpReply>(HttpCall)>;

// A failure as a meta/v1 Status, which Kubernetes clients can display.
HttpReply FailureReply(int status, std::string_view message);

}  // namespace kube
