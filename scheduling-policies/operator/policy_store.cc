// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/operator/policy_store.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "api/conditions.h"
#include "api/find_condition.h"
#include "api/label_selector.h"
#include "kube/base/utf8.h"
#include "scheduling-policies/index.h"
#include "scheduling-policies/operator/policy_status.h"
#include "scheduling-policies/target.h"
#include "scheduling-policies/webhook/replica.h"

namespace operator_ {
namespace {

using kube::Json;
using kube::ObjectKey;
using kube::Result;
using kube::Unstructured;
using policy::SchedulingPolicy;
using policy::Scope;

// A field of a trimmed policy.
constexpr char kProblems[] = "problems";
constexpr char kSelects[] = "selects";
constexpr char kSelector[] = "selector";
constexpr char kBytes[] = "bytes";

// The size of a condition's message: an author gets the first problems.
constexpr size_t kMaxProblems = 1024;

std::string Shortened(const std::string& text) {
  if (text.size() <= kMaxProblems) return text;
  return std::string(kube::CutUtf8(text, kMaxProblems)) + "...";
}

// The version of a policy that no replica has.
constexpr uint64_t kNobody = std::numeric_limits<uint64_t>::max();

// The condition, if the policy has one.
std::optional<api::Condition> ReadyOf(const Unstructured& policy) {
  Result<SchedulingPolicy> read = SchedulingPolicy::FromJson(policy.body(), Scope::kNamespace);
  if (!read) return std::nullopt;
  const api::Condition* ready = api::FindCondition(read->status.conditions, policy::kReady);
  return ready == nullptr ? std::nullopt : std::optional(*ready);
}

bool WasTooLarge(const std::optional<api::Condition>& ready) {
  return ready && ready->reason == kTooLarge;
}

}  // namespace

const kube::Resource& ResourceOfPolicy(const ObjectKey& policy) {
  return ScopeOf(policy) == Scope::kCluster ? policy::kClusterPodSchedulingPolicies
                                            : policy::kPodSchedulingPolicies;
}

PolicyStore::PolicyStore(kube::Client& client, kube::Clock& clock, std::string operator_namespace)
    : operator_namespace_(std::move(operator_namespace)),
      policies_(client, clock,
                {.trim = [](Unstructured& object) { Trim(Scope::kNamespace, object); },
                 .max_objects = policy::kMaxPolicies,
                 .resource = policy::kPodSchedulingPolicies}),
      cluster_policies_(client, clock,
                        {.trim = [](Unstructured& object) { Trim(Scope::kCluster, object); },
                         .max_objects = policy::kMaxPolicies,
                         .resource = policy::kClusterPodSchedulingPolicies}) {
  for (Informer* informer : {&policies_, &cluster_policies_}) {
    informer->OnEvent([this, informer](kube::EventType type, const Unstructured& object) {
      type == kube::EventType::kDeleted ? Remove(kube::KeyOf(object), object)
                                        : Put(object, informer->synced());
      Changed();
    });
  }
}

void PolicyStore::Start(kube::TaskGroup& tasks) {
  tasks.Spawn("watch-podschedulingpolicies", policies_.Run());
  tasks.Spawn("watch-clusterpodschedulingpolicies", cluster_policies_.Run());
  tasks.Spawn("policies-synced", AwaitSync());
}

boost::asio::awaitable<void> PolicyStore::AwaitSync() {
  co_await kube::IgnoreCancellation();
  Result<> synced = co_await policies_.WaitForSync();
  if (!synced) co_return;
  synced = co_await cluster_policies_.WaitForSync();
  if (synced) Changed();
}

// A policy may be large, so it is validated once for each of its versions.
void PolicyStore::Trim(Scope scope, Unstructured& object) {
  Json kept = {{"metadata", Json::object()}};
  for (const char* name :
       {"name", "namespace", "uid", "creationTimestamp", "resourceVersion", "generation"}) {
    if (const Json* value = kube::Find(object.body(), std::string("metadata.") + name))
      kept["metadata"][name] = *value;
  }
  if (const Json* status = kube::Find(object.body(), "status")) kept["status"] = *status;
  kept[kBytes] = policy::BudgetBytes(object.body());
  Result<SchedulingPolicy> policy = SchedulingPolicy::FromJson(object.body(), scope);
  if (!policy) {
    kept[kProblems] = policy.error().message();
  } else {
    if (!policy->problems.empty()) kept[kProblems] = Shortened(Describe(policy->problems));
    if (policy->namespace_selector) {
      std::string selector = kube::DumpJson(api::LabelSelectorToJson(*policy->namespace_selector));
      if (selector.size() <= kMaxCoveredSelector) kept[kSelector] = std::move(selector);
    }
    kept[kSelects] = policy::CanSelect(*policy);
  }
  object = Unstructured(std::move(kept));
}

void PolicyStore::Put(const Unstructured& object, bool synced) {
  ObjectKey key = kube::KeyOf(object);
  Entry& entry = entries_[key];
  SetDue(key);
  const kube::meta::ObjectMeta& metadata = object.metadata();
  uint64_t version = policy::VersionNumber(metadata.resource_version());
  if (!key.ns.empty()) received_ = std::max(received_, version);
  // Not a number: no replica can have it.
  if (version == 0) version = kNobody;
  if (entry.uid == metadata.uid() && entry.generation == metadata.generation() &&
      entry.change != 0) {
    if (entry.version == kNobody && !WasTooLarge(ReadyOf(object))) entry.version = version;
    return;
  }
  entry.uid = metadata.uid();
  entry.generation = metadata.generation();
  entry.version = version;
  entry.reserved = policy::IsExcludedNamespace(key.ns, {}, operator_namespace_);
  entry.can_select = kube::BoolAt(object.body(), kSelects);
  if (!key.ns.empty()) {
    budget_.Put(key, kube::StringAt(object.body(), "metadata.creationTimestamp"),
                static_cast<size_t>(kube::IntAt(object.body(), kBytes)));
  }
  Decide(key, object, synced);
  DecideOthers(key, synced);
}

void PolicyStore::Remove(const ObjectKey& policy, const Unstructured& last) {
  auto found = entries_.find(policy);
  if (found == entries_.end()) return;
  if (found->second.selects) Count(policy, found->second, /*add=*/false);
  entries_.erase(found);
  waiting_.erase(policy);
  if (policy.ns.empty()) return;
  received_ = std::max(received_, policy::VersionNumber(last.metadata().resource_version()));
  budget_.Remove(policy);
  DecideOthers(policy, policies_.synced());
}

void PolicyStore::Decide(const ObjectKey& policy, const Unstructured& object, bool synced) {
  Entry& entry = entries_.at(policy);
  if (entry.selects) Count(policy, entry, /*add=*/false);
  entry.change = ++changes_;
  entry.too_large = !policy.ns.empty() && !budget_.Fits(policy);
  entry.selects = entry.can_select && !entry.reserved && !entry.too_large;
  entry.selector = entry.selects ? kube::StringAt(object.body(), kSelector) : "";
  entry.in_force = false;
  waiting_.erase(policy);
  if (!entry.selects) return;
  Count(policy, entry, /*add=*/true);
  if (!synced) {
    // Another operator has set it in force, and only the operator may write the status.
    std::optional<api::Condition> ready = ReadyOf(object);
    entry.in_force =
        ready && ready->status == "True" && ready->observed_generation == entry.generation;
    // There is room for it now, but its own version does not show since when. The next version
    // does: the operator writes the status with it.
    if (WasTooLarge(ready)) entry.version = kNobody;
  }
  if (!entry.in_force) waiting_.insert(policy);
}

void PolicyStore::DecideOthers(const ObjectKey& policy, bool synced) {
  for (const ObjectKey& other : budget_.TakeChanged()) {
    if (other == policy) continue;
    std::optional<Unstructured> object = policies_.Get(other);
    if (!object) continue;
    SetDue(other);
    if (synced) entries_.at(other).version = WasTooLarge(ReadyOf(*object)) ? kNobody : received_;
    Decide(other, *object, synced);
  }
}

void PolicyStore::Count(const ObjectKey& policy, const Entry& entry, bool add) {
  bool of_cluster = ScopeOf(policy) == Scope::kCluster;
  std::map<std::string, size_t>& counts = of_cluster ? targets_.selectors : targets_.namespaces;
  const std::string& target = of_cluster ? entry.selector : policy.ns;
  size_t& count = counts[target];
  add ? ++count : --count;
  if (count == 0) counts.erase(target);
}

const PolicyStore::Entry* PolicyStore::Find(const ObjectKey& policy) const {
  auto found = entries_.find(policy);
  return found == entries_.end() ? nullptr : &found->second;
}

void PolicyStore::SetInForce(const ObjectKey& policy) {
  auto found = entries_.find(policy);
  if (found == entries_.end()) return;
  found->second.in_force = true;
  waiting_.erase(policy);
  SetDue(policy);
}

void PolicyStore::ForgetInForce() {
  for (auto& [key, entry] : entries_) {
    if (!std::exchange(entry.in_force, false)) continue;
    waiting_.insert(key);
    SetDue(key);
  }
}

void PolicyStore::SetAllDue() {
  for (const auto& [key, entry] : entries_) SetDue(key);
}

std::optional<ObjectKey> PolicyStore::TakeDue() {
  if (due_.empty()) return std::nullopt;
  auto ns = due_.upper_bound(last_taken_);
  if (ns == due_.end()) ns = due_.begin();
  last_taken_ = ns->first;
  auto name = ns->second.begin();
  ObjectKey policy{ns->first, *name};
  ns->second.erase(name);
  if (ns->second.empty()) due_.erase(ns);
  return policy;
}

std::optional<PolicyStore::Details> PolicyStore::Read(const ObjectKey& policy) const {
  Scope scope = ScopeOf(policy);
  std::optional<Unstructured> object =
      (scope == Scope::kCluster ? cluster_policies_ : policies_).Get(policy);
  if (!object) return std::nullopt;
  Result<SchedulingPolicy> parsed = SchedulingPolicy::FromJson(object->body(), scope);
  if (!parsed) return std::nullopt;
  return Details{std::move(*parsed), kube::StringAt(object->body(), kProblems)};
}

}  // namespace operator_
