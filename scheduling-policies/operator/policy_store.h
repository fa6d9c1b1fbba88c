// SPDX-License-Identifier: Apache-2.0
// PolicyStore: the policies of both kinds, from watches, with only what the operator needs: without
// their criteria. Missing CRDs delay no other work: the watches wait for them.
//
// A policy waits until it is in force, and its status is due after each of its changes. The work of
// both is bounded by what changed, and due statuses are written round-robin by namespace, so the
// policies of one tenant do not delay those of others. Thread: the client's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"
#include "scheduling-policies/budget.h"
#include "scheduling-policies/operator/policy_coverage.h"
#include "scheduling-policies/scheduling_policy.h"

namespace operator_ {

// A policy: one with an empty `ns` is a ClusterPodSchedulingPolicy.
inline policy::Scope ScopeOf(const kube::ObjectKey& policy) {
  return policy.ns.empty() ? policy::Scope::kCluster : policy::Scope::kNamespace;
}
const kube::Resource& ResourceOfPolicy(const kube::ObjectKey& policy);

class PolicyStore {
 public:
  struct Entry {
    std::string uid;
    int64_t generation = 0;
    // A replica that has seen the policies up to this resourceVersion applies the policy. It is the
    // version with which this generation was first seen, or with which there is room for it again.
    uint64_t version = 0;
    // changes() at that moment.
    uint64_t change = 0;
    bool reserved = false;    // in a namespace in which nothing is changed
    bool too_large = false;   // with the others: it is left out (scheduling-policies/budget.h)
    bool can_select = false;  // if it is neither
    bool selects = false;
    bool in_force = false;
    // The selector of a cluster policy that can select a pod: as in PolicyTargets.
    std::string selector;
  };

  // `operator_namespace`: nothing is changed there.
  PolicyStore(kube::Client& client, kube::Clock& clock, std::string operator_namespace);

  // Called when a policy was added, changed or deleted, and when all are known. Before Start().
  void OnChange(std::function<void()> listener) { on_change_ = std::move(listener); }
  // Starts the watches; `tasks` must be stopped before this is destroyed.
  void Start(kube::TaskGroup& tasks);
  // True once all policies are known.
  bool synced() const { return policies_.synced() && cluster_policies_.synced(); }

  // The policies that can select a pod.
  const PolicyTargets& targets() const { return targets_; }
  // The policies that are not in force.
  const std::set<kube::ObjectKey>& waiting() const { return waiting_; }
  // nullptr if there is no such policy.
  const Entry* Find(const kube::ObjectKey& policy) const;
  // How many generations were seen so far.
  uint64_t changes() const { return changes_; }

  // `policy` is in force until its generation changes.
  void SetInForce(const kube::ObjectKey& policy);
  // No policy is in force any more.
  void ForgetInForce();

  // Every status is due.
  void SetAllDue();
  void SetDue(const kube::ObjectKey& policy) { due_[policy.ns].insert(policy.name); }
  // Takes a policy whose status is due, if possible of another namespace than the last one.
  std::optional<kube::ObjectKey> TakeDue();
  bool any_due() const { return !due_.empty(); }

  struct Details {
    // Without selectors and criteria.
    policy::SchedulingPolicy policy;
    std::string problems;
  };
  // nullopt if there is no such policy.
  std::optional<Details> Read(const kube::ObjectKey& policy) const;

 private:
  using Informer = kube::Informer<kube::Unstructured>;

  static void Trim(policy::Scope scope, kube::Unstructured& object);
  // `synced`, here and below: not of the first list.
  void Put(const kube::Unstructured& object, bool synced);
  // `last`: its state with the version of the deletion, if that is known.
  void Remove(const kube::ObjectKey& policy, const kube::Unstructured& last);
  // Counts the policy among targets(), or no longer.
  void Count(const kube::ObjectKey& policy, const Entry& entry, bool add);
  // Decides anew whether a policy can select a pod, and whether it is in force.
  void Decide(const kube::ObjectKey& policy, const kube::Unstructured& object, bool synced);
  // The same for those, but `policy`, for which there is room now, or no longer.
  void DecideOthers(const kube::ObjectKey& policy, bool synced);
  boost::asio::awaitable<void> AwaitSync();
  void Changed() const {
    if (on_change_) on_change_();
  }

  std::string operator_namespace_;
  Informer policies_;
  Informer cluster_policies_;
  std::function<void()> on_change_;
  std::unordered_map<kube::ObjectKey, Entry> entries_;
  PolicyTargets targets_;
  kube::AgeBudget budget_{policy::kBudget};
  // The highest version of a policy of a namespace that was received.
  uint64_t received_ = 0;
  std::set<kube::ObjectKey> waiting_;
  uint64_t changes_ = 0;
  // Names by namespace, and the namespace that was taken last.
  std::map<std::string, std::set<std::string>> due_;
  std::string last_taken_;
};

}  // namespace operator_
