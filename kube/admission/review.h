// SPDX-License-Identifier: Apache-2.0
// AdmissionReview, for webhooks that are called seldom: the request as a struct, and the handler
// around a function of it. (The pods' webhook reads its reviews itself, at a fraction of the cost:
// webhook/pod_review.h.)
//
//   server.Handle("POST", "/validate-x", ReviewHandler(ValidateX));   // Async<AdmissionResponse>
//   ValidateX(AdmissionRequest)
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
  bool dry_run = false;
  // JSON; empty where the operation has none (object: DELETE, old object: CREATE).
  std::string object_json;
  std::string old_object_json;
};

// kInvalid, saying what is wrong, unless `body` is an AdmissionReview of admission.k8s.io/v1 with a
// request.
Result<AdmissionRequest> ParseReview(std::string_view body);

using AdmissionFunction = std::function<Async<AdmissionResponse>(AdmissionRequest)>;

// Answers a review by `decide`. A body that is no AdmissionReview is answered 400; an Error or an
// exception of `decide` is AdmissionResponse::Errored(500, ...), so that the failurePolicy alone
// says what becomes of the request.
HttpHandler ReviewHandler(AdmissionFunction decide);

}  // namespace kube
