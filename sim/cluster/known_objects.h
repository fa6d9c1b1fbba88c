// SPDX-License-Identifier: Apache-2.0
// KnownObjects: objects as one API server knows them, by its own watches: each change late, in the
// order in which they were stored.
//
//   KnownObjects known(loop, random.Fork(), {kube::kNamespaces.Path()});
//   store.Observe([&](const kube::StoreCommit& commit) { known.OnCommit(commit); });
//
// Thread: the Loop's.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "kube/base/clock.h"
#include "kube/testing/store_commit.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"
#include "sim/base/loop.h"
#include "sim/base/random.h"

namespace sim {

class KnownObjects {
 public:
  // The teardown of the product allows two seconds (operator/teardown/teardown.h).
  static constexpr std::chrono::seconds kLatest{1};

  using Objects = std::map<kube::ObjectKey, std::shared_ptr<const kube::Json>>;

  // `loop` outlives it.
  KnownObjects(Loop& loop, Random random, std::set<std::string> collections);

  void OnCommit(const kube::StoreCommit& commit);
  // From now on, changes of these collections become known up to `longest` late, instead of
  // kLatest.
  void Delay(std::set<std::string> collections, kube::Duration longest) {
    delayed_ = std::move(collections);
    delay_ = longest;
  }

  // By key, and so by name for a cluster-scoped collection.
  const Objects& Of(const std::string& collection) const;
  // nullptr if it is not known.
  std::shared_ptr<const kube::Json> Get(const std::string& collection,
                                        const kube::ObjectKey& key) const;

 private:
  struct Collection {
    Objects objects;
    // When the last change becomes known.
    kube::TimePoint last;
  };

  Loop& loop_;
  Random random_;
  std::set<std::string> delayed_;
  kube::Duration delay_{};
  // Shared with changes that are on their way.
  std::map<std::string, std::shared_ptr<Collection>> collections_;
};

}  // namespace sim
