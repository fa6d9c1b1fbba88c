// SPDX-License-Identifier: Apache-2.0
// A request to and a reply of our own servers, as their handlers see them.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "kube/base/async.h"

namespace kube {

struct HttpCall {
  std::string method;
  // Without the query; as it came, not percent-decoded.
  std::string path;
  std::string body;
};

struct HttpReply {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
};

// An Error, or an exception, becomes a reply with status 500.
using HttpHandler = std::function<Async<HttpReply>(HttpCall)>;

// A failure in the form that Kubernetes' clients know how to show: a meta/v1 Status.
HttpReply FailureReply(int status, std::string_view message);

}  // namespace kube
