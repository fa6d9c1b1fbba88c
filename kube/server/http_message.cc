// SPDX-License-Identifier: Apache-2.0
#include "kube/server/http_message.h"

#include "kube/base/json_text.h"

namespace kube {

HttpReply FailureReply(int status, std::string_view message) {
  HttpReply reply{.status = status};
  reply.body = R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":)";
  AppendJsonString(reply.body, message);
  reply.body += ",\"code\":" + std::to_string(status) + "}";
  return reply;
}

}  // namespace kube
