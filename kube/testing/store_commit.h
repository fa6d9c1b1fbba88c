// SPDX-License-Identifier: Apache-2.0
// Caller and StoreCommit: who wrote what to a FakeStore, for checkers that judge each change.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace kube {

struct Caller {
  std::string user;  // "system:serviceaccount:ns:name"
  // The test itself: it may write status and ignore resourceVersions.
  bool trusted = false;
};

struct StoreCommit {
  uint64_t version;        // the resourceVersion of the change
  std::string collection;  // "/api/v1/pods"
  ObjectKey key;
  // The object as JSON, whatever its encoding; null before its creation, and after its deletion.
  // Only metadata of a protobuf kind without a type in kube/types.
  std::shared_ptr<const Json> before;
  std::shared_ptr<const Json> after;
  Caller caller;
  std::string verb;         // "create", "update", "patch" or "delete", as RBAC names them
  std::string subresource;  // "status", or ""
};

// Called for each change, before the watches get it. Must not call the store.
using StoreObserver = std::function<void(const StoreCommit&)>;

}  // namespace kube
