// SPDX-License-Identifier: Apache-2.0
// Binder: what scheduler and kubelets do to pods without gates: they run on a node some seconds
// later. Pods of Deployments are not its own (sim/cluster/deployments.h).
//
//   Binder binder(loop, store, random.Fork());
//   binder.OnCommit(commit);             // each one
//
// Thread: the Loop's.
#pragma once

#include <set>

#include "kube/testing/fake_store.h"
#include "kube/testing/store_commit.h"
#include "kube/testing/trusted_calls.h"
#include "kube/types/resource.h"
#include "sim/base/loop.h"
#include "sim/base/random.h"

namespace sim {

class Binder {
 public:
  // Both outlive it.
  Binder(Loop& loop, kube::FakeStore& store, Random random);

  void OnCommit(const kube::StoreCommit& commit);

 private:
  void Bind(const kube::ObjectKey& key);

  Loop& loop_;
  Random random_;
  kube::TrustedCalls scheduler_;
  // Those that are about to be bound.
  std::set<kube::ObjectKey> due_;
};

}  // namespace sim
