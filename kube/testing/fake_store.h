// SPDX-License-Identifier: Apache-2.0
// FakeStore: the objects of an in-process API server, and what an API server does with them:
// resourceVersions and conflicts, uids, finalizers, generateName, selectors, paging, watches with
// bookmarks and streaming lists, 410.
//
//   FakeStore store;
//   Result<ApiResponse> response = store.Handle({.user = "ann"}, request);
//
// FakeApiServer is a Client over it, TrustedCalls are the calls of a test itself.
//
// Not implemented: validation other than StoreOptions, defaulting, garbage collection, RBAC,
// graceful deletion. Every resource exists. Objects stay in the encoding in which they were
// written, and are translated for a request for the other one (kube/testing/wire_json.h).
// Server-side apply and strategic merge patches are treated as merge patches. Status is written by
// /status only, and writes to the object keep it; trusted calls write both. A dry run stores
// nothing, and uses no version. Thread: one.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/testing/fake_admission.h"
#include "kube/testing/fake_call.h"
#include "kube/testing/fake_history.h"
#include "kube/testing/fake_object.h"
#include "kube/testing/fake_target.h"
#include "kube/testing/fake_watch.h"
#include "kube/testing/fake_write.h"
#include "kube/testing/store_commit.h"
#include "kube/types/resource.h"

namespace kube {

struct StoreOptions {
  // New pods are pending, and updates of pods have the limits of kube/testing/pod_rules.h.
  bool pod_rules = false;
  // Objects need an existing namespace, and namespaces are deleted in two steps
  // (kube/testing/namespace_rules.h).
  bool namespace_rules = false;
  // The number of changes that are kept: older resourceVersions get 410.
  size_t history = 10'000;
  // Of one watch. The next change ends a watch with so many, as that of a client that reads too
  // slowly.
  size_t unread_frames = 100'000;
};

struct WatchOptions {
  // Begins as at a replica whose cache is at this version; nullopt for the newest one.
  std::optional<uint64_t> at = {};
  // Next() waits for events until FakeWatch::Release() and ReleaseThrough() let them pass.
  bool held = false;
};

class FakeStore {
 public:
  // Of a write that others overtake.
  static constexpr int kMaxAttempts = 5;

  // `clock` sets creation times.
  explicit FakeStore(Clock& clock = RealClock(), StoreOptions options = StoreOptions());

  // Carries out a call other than a watch: at once, without admission.
  Result<ApiResponse> Handle(const Caller& caller, const ApiRequest& request);
  // The same with admission, unless the caller is trusted. If the object changes during admission,
  // the write is prepared and admitted again for what is stored then, at most kMaxAttempts times.
  // Errors: also kConflict after the last attempt, and those of admission.
  Async<ApiResponse> Call(Caller caller, ApiRequest request);
  // Carries out a GET, of an object or of a list, as a replica whose cache is at `version`.
  // Errors: also kExpired if the version is compacted, and kUnavailable with the cause
  // ResourceVersionTooLarge if the request names a newer one.
  Result<ApiResponse> ReadAt(uint64_t version, const Caller& caller,
                             const ApiRequest& request) const;

  // Opens a watch. MakeFakeStream() is what a client reads of it.
  // Errors: kInvalid, and those of ReadAt().
  Result<std::shared_ptr<FakeWatch>> Watch(const ApiRequest& request, WatchOptions options);
  // The stream of a watch that nothing delays.
  Result<std::unique_ptr<WatchStream>> OpenWatch(const ApiRequest& request);

  // Admits each create, update and delete of Call(). `hook` outlives its calls.
  void Admit(AdmissionHook hook) { admission_ = std::move(hook); }
  // Calls `observer` for each change, before the watches get it.
  void Observe(StoreObserver observer) { observers_.push_back(std::move(observer)); }

  // Ends the open watches, normally or with `failure`.
  void EndWatches(std::optional<Error> failure);
  // Compaction: resourceVersions and continue tokens before `version` end with 410. Open watches go
  // on.
  void Compact(uint64_t version);
  // Compaction up to now. Open watches end with 410 too.
  void ExpireWatches();
  // An API server without streaming lists: sendInitialEvents is refused as 422.
  void RefuseStreamingLists() { streaming_lists_ = StreamingLists::kRefused; }
  // An API server that does not know the parameter: it starts an ordinary watch, without the
  // bookmark that ends the initial events.
  void IgnoreStreamingLists() { streaming_lists_ = StreamingLists::kIgnored; }
  // Sends a bookmark to every open watch that requested them.
  void SendBookmarks();

  int open_watches() const;
  uint64_t resource_version() const { return version_; }

 private:
  std::optional<FakeObject> Stored(const FakeTarget& target) const;
  Result<ApiResponse> Read(const FakeCall& call, uint64_t version) const;

  Result<FakeWrite> Prepare(const FakeCall& call) const;
  // Whether `write` was prepared for what is stored now.
  bool IsCurrent(const FakeCall& call, const FakeWrite& write) const;
  // What is to be admitted.
  Result<AdmissionAttributes> AttributesOf(const FakeCall& call, const FakeWrite& write) const;
  Result<ApiResponse> CarryOut(const FakeCall& call, FakeWrite write);
  Result<ApiResponse> Create(const FakeCall& call, FakeWrite write);
  Result<ApiResponse> Update(const FakeCall& call, const FakeObject& before, FakeObject object);
  Result<ApiResponse> Remove(const FakeCall& call, const FakeObject& before);
  bool HasPodRules(const FakeCall& call) const;
  bool HasNamespaceRules(const FakeCall& call) const;
  // Stores `after`, or removes the object, unless the call is a dry run. Returns the stored object.
  std::optional<FakeObject> Commit(const FakeCall& call, const ObjectKey& key,
                                   std::optional<FakeObject> before,
                                   std::optional<FakeObject> after);
  std::vector<std::shared_ptr<FakeWatch>> OpenWatches() const;

  Clock& clock_;
  const StoreOptions options_;
  uint64_t version_ = 1;
  uint64_t next_uid_ = 1;
  enum class StreamingLists {
    kServed,
    kRefused,
    kIgnored
  } streaming_lists_ = StreamingLists::kServed;
  std::map<std::string, FakeObjects> collections_;  // by path
  FakeHistory history_;
  std::vector<std::weak_ptr<FakeWatch>> watches_;
  std::vector<StoreObserver> observers_;
  AdmissionHook admission_;
};

}  // namespace kube
