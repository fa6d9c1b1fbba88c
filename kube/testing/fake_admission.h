// SPDX-License-Identifier: Apache-2.0
// Admission to a FakeStore: what webhooks and admission policies are to an API server.
//
//   Async<Admitted> Admit(AdmissionAttributes asked) {
//     if (asked.operation != "CREATE" || asked.collection != kPods.Path()) co_return Admitted{};
//     Json pod = *asked.object;
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

// What an API server tells about a write.
struct AdmissionAttributes {
  std::string operation;   // "CREATE", "UPDATE" or "DELETE"
  std::string collection;  // "/api/v1/pods"
  ObjectKey key;           // without a name if the API server is to generate one
  std::string subresource;
  // As the caller wrote it, with the fields that the server owns. Null for DELETE.
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
using AdmissionHook = std::function<Async<Admitted>(AdmissionAttributes)>;

}  // namespace kube
