// SPDX-License-Identifier: Apache-2.0
// Commit: one change of one object in the API server's store. The sequence of all commits of a run
// is what the checker judges; nothing that a program keeps in memory is part of it.
//
// It has what kube's StoreCommit has, the time, and, where the recorder knows it, what the caller
// sent. A recorded run of real processes has the same fields in its audit log.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace sim::checker {

using kube::Json;

// An object of the store; nullptr: there is none.
using JsonRef = std::shared_ptr<const Json>;
inline JsonRef Share(Json json) { return std::make_shared<const Json>(std::move(json)); }

// Since the start of the run, by the clock of the world.
using Time = std::chrono::nanoseconds;

struct Commit {
  // The resourceVersion of the change: ascending in a run.
  uint64_t version = 0;
  // "" for the core group; "pods".
  std::string group, plural;
  // `ns` is "" for a cluster-scoped object.
  kube::ObjectKey key;
  // nullptr: the object did not exist, or was deleted.
  JsonRef before, after;
  // "system:serviceaccount:NS:NAME", "admin", ...
  std::string user;
  // create, update, patch, delete
  std::string verb;
  // "", "status", "binding"
  std::string subresource;

  Time at{};
  // Of a create: the object as the caller sent it, before admission changed it. nullptr: not known.
  JsonRef sent;

  // Sets `group` and `plural` from "/api/v1/pods" or "/apis/apps/v1/deployments".
  void SetCollection(std::string_view path);
};

inline bool IsOf(const Commit& commit, std::string_view group, std::string_view plural) {
  return commit.group == group && commit.plural == plural;
}

}  // namespace sim::checker
