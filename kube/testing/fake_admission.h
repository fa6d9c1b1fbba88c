// SPDX-License-Identifier: Apache-2.0
// Admission to a FakeStore: what webhooks and admission policies are to an API server.
//
//   Async<Admitted> Admit(AdmissionRequest request) {
//     if (request.operation != "CREATE" || request.collection != kPods.Path()) co_return
//     Admitted{}; Json pod = *request.object;
//     ...
//     Admitted admitted{.object = std::move(pod)};
//     co_return admitted;
//   }
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/base/async.h"
#include "kube/testing/store_commit.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace kube {

struct AdmissionRequest {
  std::string operation;   // "CREATE", "UPDATE" or "DELETE"
  std::string collection;  // "/api/v1/pods"
  ObjectKey key;           // without a name if the API server is to generate one
  std::string subresource;
  // As the caller wrote it: the fields that the server owns are set afterwards. Null for DELETE.
  std::shared_ptr<const Json> object;
  std::shared_ptr<const Json> old_object;  // null for CREATE
  bool dry_run = false;
  std::string field_manager;
  Caller caller;
};

struct Admitted {
  // The changed object; nullopt leaves it as it is.
  std::optional<Json> object = {};
  std::vector<std::string> warnings = {};
};

// An error refuses the write, and is what the caller gets.
using AdmissionHook = std::function<Async<Admitted>(AdmissionRequest)>;

}  // namespace kube
