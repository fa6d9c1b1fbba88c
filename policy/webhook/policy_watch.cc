// SPDX-License-Identifier: Apache-2.0
#include "policy/webhook/policy_watch.h"

#include <glog/logging.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "kube/base/task_group.h"
#include "kube/codec/fields.h"
#include "kube/types/core.pb.h"
#include "kube/types/meta.pb.h"
#include "policy/scheduling_policy.h"

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

// A policy without spec, which selects nothing.
std::string PolicyStub(std::string_view packed) {
  Json policy = Json::from_cbor(packed, /*strict=*/true, /*allow_exceptions=*/false);
  if (policy.is_object()) policy.erase("spec");
  std::string stub;
  Json::to_cbor(policy, stub);
  return stub;
}

kube::InformerOptions<Unstructured> PolicyOptions(Scope scope) {
  kube::InformerOptions<Unstructured> options;
  options.trim = [](Unstructured& policy) { policy = Unstructured(AppliedPart(policy.body())); };
  options.resource =
      scope == Scope::kCluster ? kClusterPodSchedulingPolicies : kPodSchedulingPolicies;
  if (scope == Scope::kNamespace) {
    options.budget = kPolicyBudget;
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

Json AppliedPart(const Json& policy) {
  Json part = Json::object();
  for (const char* field : {"name", "namespace", "generation", "resourceVersion"}) {
    const Json* value = kube::Find(policy, std::string("metadata.") + field);
    if (value != nullptr) part["metadata"][field] = *value;
  }
  if (const Json* spec = kube::Find(policy, "spec")) part["spec"] = *spec;
  return part;
}

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
  int lists = 3;  // not complete
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
    left_out_.clear();
    all_left_out_ = 0;
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
    tasks.Spawn("sync", OnSync(watches_->cluster.informer.WaitForSync(), &watches_->cluster));
    tasks.Spawn("sync", OnSync(watches_->namespaced.informer.WaitForSync(), &watches_->namespaced));
    tasks.Spawn("sync", OnSync(watches_->namespaces.WaitForSync(), nullptr));
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

bool PolicyWatch::synced() const {
  return !list_ && watches_ != nullptr && watches_->cluster.informer.synced() &&
         watches_->namespaced.informer.synced() && watches_->namespaces.synced();
}

size_t PolicyWatch::LeftOut(const std::string& ns) const {
  if (ns.empty()) return all_left_out_;
  auto found = left_out_.find(ns);
  return found == left_out_.end() ? 0 : found->second;
}

kube::asio::awaitable<void> PolicyWatch::OnSync(kube::Async<> sync, Kind* kind) {
  co_await kube::IgnoreCancellation();
  Result<> complete = co_await std::move(sync);
  if (!complete) co_return;
  if (kind != nullptr) CountSeen(*kind);
  if (--watches_->lists > 0) co_return;
  LOG(INFO) << "applies " << watches_->cluster.known.size() << " cluster policies and "
            << watches_->namespaced.known.size() << " policies of namespaces";
  if (on_seen_) on_seen_();
}

void PolicyWatch::OnPolicy(Kind& kind, EventType type, const Unstructured& object) {
  kube::ObjectKey key = kube::KeyOf(object);
  auto before = kind.known.find(key);
  bool has_before = before != kind.known.end();
  if (type == EventType::kDeleted) {
    index_.Remove(kind.scope, key.ns, key.name);
    if (!has_before) return;
    CountLeftOut(key.ns, &before->second, nullptr);
    kind.known.erase(before);
    return;
  }

  Result<SchedulingPolicy> policy = SchedulingPolicy::FromJson(object.body(), kind.scope);
  if (!policy) return;
  VLOG(1) << policy->Describe() << " generation=" << policy->generation << " "
          << (policy->problems.empty() ? "is applied" : "has an invalid spec");
  Known known{.generation = policy->generation,
              .version = VersionNumber(object.metadata().resource_version()),
              .left_out = !kind.informer.Complete(key)};
  bool new_generation = !has_before || before->second.generation != known.generation;
  index_.Put(std::move(*policy));
  CountLeftOut(key.ns, has_before ? &before->second : nullptr, &known);
  kind.known[std::move(key)] = known;
  if (new_generation && synced() && on_seen_) on_seen_();
}

void PolicyWatch::CountLeftOut(const std::string& ns, const Known* before, const Known* after) {
  bool was = before != nullptr && before->left_out;
  bool is = after != nullptr && after->left_out;
  if (was == is) return;
  size_t& count = left_out_[ns];
  count += is ? 1 : -1;
  all_left_out_ += is ? 1 : -1;
  if (count == 0) left_out_.erase(ns);
}

void PolicyWatch::CountSeen(Kind& kind) {
  kind.seen = 0;
  for (const auto& [key, known] : kind.known) kind.seen = std::max(kind.seen, known.version);
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
