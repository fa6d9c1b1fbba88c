// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/webhook/policy_watch.h"

#include <glog/logging.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "kube/base/backoff.h"
#include "kube/base/task_group.h"
#include "kube/client/typed.h"
#include "kube/codec/fields.h"
#include "kube/types/core.pb.h"
#include "kube/types/meta.pb.h"
#include "scheduling-policies/budget.h"
#include "scheduling-policies/scheduling_policy.h"

namespace policy {
namespace {

using namespace std::chrono_literals;
using kube::EventType;
using kube::Json;
using kube::Result;
using kube::Unstructured;
using kube::core::Namespace;
using kube::meta::ObjectMeta;

constexpr kube::Duration kStopWithin = 5s;
constexpr kube::BackoffOptions kReadRetry{.base = 100ms, .cap = 5s};

// A field of a trimmed policy: its BudgetBytes().
constexpr char kBytes[] = "bytes";

// What is applied of a policy: most bytes of a stored object are managed fields and status.
void TrimPolicy(Unstructured& policy) {
  Json trimmed = {{kBytes, BudgetBytes(policy.body())}};
  for (const char* field :
       {"name", "namespace", "uid", "creationTimestamp", "generation", "resourceVersion"}) {
    const Json* value = kube::Find(policy.body(), std::string("metadata.") + field);
    if (value != nullptr) trimmed["metadata"][field] = *value;
  }
  if (const Json* spec = kube::Find(policy.body(), "spec")) trimmed["spec"] = *spec;
  policy = Unstructured(std::move(trimmed));
}

// Smaller than a stub and its read: kept whole, also where there is no room in the cache.
bool IsSmall(const Json& trimmed) {
  return kube::IntAt(trimmed, kBytes) <= static_cast<int64_t>(kMinPolicyBytes);
}

// A policy without spec, which selects nothing.
std::string PolicyStub(std::string_view packed) {
  kube::Result<Json> policy = kube::UnpackJson(packed);
  if (!policy || IsSmall(*policy)) return std::string(packed);
  policy->erase("spec");
  return kube::PackJson(*policy);
}

kube::InformerOptions<Unstructured> PolicyOptions(Scope scope) {
  kube::InformerOptions<Unstructured> options;
  options.trim = TrimPolicy;
  options.resource =
      scope == Scope::kCluster ? kClusterPodSchedulingPolicies : kPodSchedulingPolicies;
  options.max_objects = kMaxPolicies;
  if (scope == Scope::kNamespace) {
    // Filled in the order in which policies arrive: this bounds the memory, and decides nothing.
    options.budget = kBudget;
    options.stub = PolicyStub;
  }
  return options;
}

// Name and labels of a namespace.
Result<std::optional<std::string>> PackNamespace(std::string_view message) {
  Namespace packed;
  kube::FieldReader fields(message);
  while (fields.Next()) {
    if (fields.number() != Namespace::kMetadataFieldNumber) continue;
    std::string kept;
    kube::FieldReader metadata(fields.bytes());
    while (metadata.Next()) {
      if (metadata.number() == ObjectMeta::kNameFieldNumber ||
          metadata.number() == ObjectMeta::kLabelsFieldNumber) {
        kept += metadata.whole();
      }
    }
    bool parsed = packed.mutable_metadata()->ParseFromString(kept);
    if (!parsed || metadata.broken()) return kube::Error::Invalid("malformed namespace");
  }
  if (fields.broken()) return kube::Error::Invalid("malformed namespace");
  return std::optional<std::string>(packed.SerializeAsString());
}

}  // namespace

PolicyWatch::Kind::Kind(kube::Client& client, kube::Clock& clock, Scope of)
    : scope(of), informer(client, clock, PolicyOptions(of)) {}

struct PolicyWatch::Watches {
  Watches(kube::Client& client, kube::Clock& clock)
      : cluster(client, clock, Scope::kCluster),
        namespaced(client, clock, Scope::kNamespace),
        namespaces(client, clock, {.pack = PackNamespace}) {}

  Kind cluster;
  Kind namespaced;
  kube::Informer<Namespace> namespaces;
  kube::AgeBudget budget{kBudget};
  // What ReadMissing() has to read, and with which version it was needed.
  std::map<kube::ObjectKey, uint64_t> missing;
  kube::Notifier missing_added;
  int lists = 3;  // not complete
  bool complete = false;
};

PolicyWatch::PolicyWatch(kube::Client& client, kube::Clock& clock)
    : client_(client), clock_(clock) {}

PolicyWatch::~PolicyWatch() = default;

kube::asio::awaitable<void> PolicyWatch::Run() {
  co_await kube::IgnoreCancellation();
  kube::Executor executor = co_await kube::asio::this_coro::executor;
  while (!list_) {
    Result<> waited = co_await wake_.Wait();
    if (!waited) co_return;
  }
  bool cancelled = false;
  while (!cancelled) {
    list_ = false;
    index_ = Index();
    watches_ = std::make_unique<Watches>(client_, clock_);
    for (Kind* kind : {&watches_->cluster, &watches_->namespaced}) {
      kind->informer.OnEvent([this, kind](EventType type, const Unstructured& object) {
        OnPolicy(*kind, type, object);
      });
    }
    watches_->namespaces.OnEvent([this](EventType type, const Namespace& object) {
      const std::string& name = object.metadata().name();
      if (type == EventType::kDeleted) return index_.RemoveNamespace(name);
      index_.PutNamespace(name, object.metadata().labels());
    });

    kube::TaskGroup tasks(executor);
    tasks.Spawn("cluster-policies", watches_->cluster.informer.Run());
    tasks.Spawn("policies", watches_->namespaced.informer.Run());
    tasks.Spawn("namespaces", watches_->namespaces.Run());
    tasks.Spawn("missing-policies", ReadMissing());
    tasks.Spawn("sync", OnSync(watches_->cluster.informer.WaitForSync()));
    tasks.Spawn("sync", OnSync(watches_->namespaced.informer.WaitForSync()));
    tasks.Spawn("sync", OnSync(watches_->namespaces.WaitForSync()));
    while (!list_ && !cancelled) {
      Result<> waited = co_await wake_.Wait();
      cancelled = !waited;
    }
    Result<> stopped = kube::Error::Cancelled("");
    while (!stopped) {
      co_await kube::ForgetCancellation();
      stopped = co_await tasks.Stop(clock_, kStopWithin);
    }
  }
}

void PolicyWatch::List() {
  list_ = true;
  wake_.NotifyAll();
}

bool PolicyWatch::synced() const { return !list_ && watches_ != nullptr && watches_->complete; }

size_t PolicyWatch::LeftOut(const std::string& ns) const {
  return watches_ == nullptr ? 0 : watches_->budget.LeftOut(ns);
}

kube::asio::awaitable<void> PolicyWatch::OnSync(kube::Async<> sync) {
  co_await kube::IgnoreCancellation();
  Result<> complete = co_await std::move(sync);
  if (!complete) co_return;
  --watches_->lists;
  FinishList();
}

void PolicyWatch::FinishList() {
  if (watches_->complete || watches_->lists > 0 || !watches_->missing.empty()) return;
  watches_->complete = true;
  LOG(INFO) << "applies " << watches_->cluster.known.size() << " cluster policies and "
            << watches_->namespaced.known.size() - LeftOut("") << " policies of namespaces";
  for (Kind* kind : {&watches_->cluster, &watches_->namespaced}) CountSeen(*kind);
  if (on_seen_) on_seen_();
}

void PolicyWatch::OnPolicy(Kind& kind, EventType type, const Unstructured& object) {
  const ObjectMeta& metadata = object.metadata();
  kube::ObjectKey key = kube::KeyOf(object);
  kube::AgeBudget& budget = watches_->budget;
  bool of_namespace = kind.scope == Scope::kNamespace;
  kind.received = std::max(kind.received, VersionNumber(metadata.resource_version()));
  bool news = false;
  if (type == EventType::kDeleted) {
    index_.Remove(kind.scope, key.ns, key.name);
    kind.known.erase(key);
    if (of_namespace) {
      budget.Remove(key);
      watches_->missing.erase(key);
    }
  } else {
    Known& known = kind.known[key];
    news = known.uid != metadata.uid() || known.generation != metadata.generation();
    if (news) known = {.uid = metadata.uid(), .generation = metadata.generation()};
    if (of_namespace) {
      budget.Put(key, kube::StringAt(object.body(), "metadata.creationTimestamp"),
                 static_cast<size_t>(kube::IntAt(object.body(), kBytes)));
    }
    Apply(kind, key, &object);
  }
  for (const kube::ObjectKey& changed : budget.TakeChanged()) {
    if (changed == key) continue;
    Apply(kind, changed, nullptr);
    news = true;
  }
  if (!synced()) return FinishList();
  if (news && on_seen_) on_seen_();
}

void PolicyWatch::Apply(Kind& kind, const kube::ObjectKey& key, const Unstructured* object) {
  Known& known = kind.known.at(key);
  bool of_namespace = kind.scope == Scope::kNamespace;
  if (of_namespace && !watches_->budget.Fits(key)) {
    index_.Remove(kind.scope, key.ns, key.name);
    known.indexed = false;
    watches_->missing.erase(key);
    return;
  }
  if (known.indexed) return;
  std::optional<Unstructured> cached;
  if (object == nullptr) {
    cached = kind.informer.Get(key);
    object = &*cached;
  }
  if (!kind.informer.Complete(key) && !IsSmall(object->body())) {
    // Events of a list have no order: nothing newer counts as seen then.
    bool ordered = kind.informer.current();
    watches_->missing.try_emplace(key, ordered ? kind.received : kind.seen + 1);
    watches_->missing_added.NotifyAll();
    return;
  }
  Put(kind, key, *object);
}

void PolicyWatch::Put(Kind& kind, const kube::ObjectKey& key, const Unstructured& object) {
  watches_->missing.erase(key);
  Result<SchedulingPolicy> policy = SchedulingPolicy::FromJson(object.body(), kind.scope);
  if (!policy) return;
  VLOG(1) << policy->Describe() << " generation=" << policy->generation << " "
          << (policy->problems.empty() ? "is applied" : "has an invalid spec");
  index_.Put(std::move(*policy));
  kind.known.at(key).indexed = true;
}

kube::asio::awaitable<void> PolicyWatch::ReadMissing() {
  co_await kube::IgnoreCancellation();
  Kind& kind = watches_->namespaced;
  auto& missing = watches_->missing;
  kube::Backoff backoff(kReadRetry);
  kube::ObjectKey key;
  while (true) {
    while (missing.empty()) {
      Result<> added = co_await watches_->missing_added.Wait();
      if (!added) co_return;
    }
    // Policies take turns: one that cannot be read delays no other.
    auto next = missing.upper_bound(key);
    key = next == missing.end() ? missing.begin()->first : next->first;
    // A list of one object needs no further permission.
    kube::ListOptions one{.ns = key.ns, .field_selector = "metadata.name=" + key.name};
    auto read = co_await kube::ListObjects(client_, kPodSchedulingPolicies, std::move(one));
    bool cancelled = co_await kube::IsCancelled();
    if (cancelled) co_return;
    if (!missing.contains(key)) continue;
    const Known& known = kind.known.at(key);
    if (read && read->items.size() == 1 && read->items[0].metadata().uid() == known.uid &&
        read->items[0].metadata().generation() == known.generation) {
      backoff.Reset();
      Put(kind, key, read->items[0]);
      if (!synced()) {
        FinishList();
      } else if (on_seen_) {
        on_seen_();
      }
      continue;
    }
    // The watch is behind, or the API server is not available.
    kube::Duration delay = backoff.Next();
    Result<> slept = co_await clock_.Sleep(delay);
    if (!slept) co_return;
  }
}

void PolicyWatch::CountSeen(Kind& kind) const {
  kind.seen = kind.received;
  if (kind.scope == Scope::kCluster) return;
  for (const auto& [key, version] : watches_->missing) kind.seen = std::min(kind.seen, version - 1);
}

SeenVersions PolicyWatch::Seen() {
  if (!synced()) return {};
  for (Kind* kind : {&watches_->cluster, &watches_->namespaced}) {
    // False during a list, as after 410.
    if (kind->informer.current()) CountSeen(*kind);
  }
  return {.policies = watches_->namespaced.seen, .cluster_policies = watches_->cluster.seen};
}

}  // namespace policy
