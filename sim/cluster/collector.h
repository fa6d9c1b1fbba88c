// SPDX-License-Identifier: Apache-2.0
// Collector: what deletes objects in a cluster: the garbage collector, objects without a living
// owner, and the controller of namespaces, the content of a namespace that is being deleted, after
// five seconds, in no order and in some more seconds, and then the namespace.
//
//   Collector collector(loop, store, random.Fork());
//   store.Observe([&](const kube::StoreCommit& commit) { collector.OnCommit(commit); });
//
// Thread: the Loop's.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kube/base/clock.h"
#include "kube/testing/fake_store.h"
#include "kube/testing/store_commit.h"
#include "kube/types/resource.h"
#include "sim/base/loop.h"
#include "sim/base/random.h"

namespace sim {

class Collector {
 public:
  // Both outlive it.
  Collector(Loop& loop, kube::FakeStore& store, Random random)
      : loop_(loop), store_(store), random_(random) {}

  void OnCommit(const kube::StoreCommit& commit);

 private:
  // The collection and the key.
  using Name = std::pair<std::string, kube::ObjectKey>;
  struct Object {
    std::string uid;
    std::set<std::string> owners;  // uids
    // Waits for its finalizers.
    bool being_deleted = false;
    // Of a namespace: when the deletion of its content begins.
    std::optional<kube::TimePoint> emptied_from = {};
  };

  // Unless it will happen anyway.
  void CollectSoon();
  void CollectAt(kube::TimePoint when);
  void Collect();
  bool HasOwner(const Object& object) const;
  // Deletes some of the content; the namespace when there is none.
  void Empty(const Name& ns);
  void Delete(const Name& name, const char* user);
  void Finalize(const Name& ns);

  Loop& loop_;
  kube::FakeStore& store_;
  Random random_;
  std::map<Name, Object> objects_;
  // Of all objects.
  std::set<std::string> uids_;
  bool due_ = false;
};

}  // namespace sim
