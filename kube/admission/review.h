// SPDX-License-Identifier: Apache-2.0
// AdmissionReview: parses the request into a struct, and wraps a function of it as a handler of an
// HttpsServer. For webhooks that are called rarely: it copies the object out of the review.
//
//   Async<AdmissionResponse> ValidateX(AdmissionRequest request);
//   server.Handle("POST", "/validate-x", ReviewHandler(ValidateX));
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "kube/admission/response.h"
#include "kube/base/async.h"
#include "kube/base/error.h"
#include "kube/server/http_message.h"

namespace kube {

struct AdmissionRequest {
  std::string uid;
  // CREATE, UPDATE, DELETE or CONNECT.
  std::string operation;
  // Empty for cluster-scoped kinds.
  std::string ns;
  // Empty for a CREATE with generateName.
  std::string name;
  std::string group;
  std::string version;
  std::string kind;
  std::string subresource;
  std::string user;
  // request.userInfo as JSON; empty if absent.
  std::string user_json;
  bool dry_run = false;
  // JSON; empty if the operation has none (object: DELETE, old object: CREATE).
  std::string object_json;
  std::string old_object_json;
};

// kInvalid with the reason unless `body` is an AdmissionReview of admission.k8s.io/v1 with a
// request.
Result<AdmissionRequest> ParseReview(std::string_view body);

using AdmissionFunction = std::function<Async<AdmissionResponse>(AdmissionRequest)>;

// A handler that answers reviews with the result of `decide`. A body that is not an AdmissionReview
// is answered with 400; an Error or an exception of `decide` becomes
// AdmissionResponse::Errored(500, ...).
HttpHandler ReviewHandler(AdmissionFunction decide);

}  // namespace kube
