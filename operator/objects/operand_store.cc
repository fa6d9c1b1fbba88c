// SPDX-License-Identifier: Apache-2.0
#include "operator/objects/operand_store.h"

#include <glog/logging.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "api/names.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"
#include "operator/objects/foreign_objects.h"
#include "operator/objects/metadata.h"
#include "operator/objects/operand.h"
#include "operator/objects/trim.h"
#include "operator/objects/webhook_configurations.h"

namespace operator_ {
namespace {

using kube::Async;
using kube::Json;
using kube::ObjectKey;
using kube::Ok;
using kube::Resource;
using kube::Result;
using kube::Unstructured;

constexpr std::chrono::hours kUnwatchedReadEvery{1};

constexpr Resource kWatched[] = {kube::kDeployments,
                                 kube::kServices,
                                 kube::kServiceAccounts,
                                 kube::kRoles,
                                 kube::kRoleBindings,
                                 kube::kNetworkPolicies,
                                 kube::kConfigMaps,
                                 kube::kMutatingWebhookConfigurations,
                                 kube::kValidatingAdmissionPolicies,
                                 kube::kValidatingAdmissionPolicyBindings};

// In the order of removal: a policy that is left shows that the removal is not complete.
constexpr Resource kGatingPolicies[] = {kube::kMutatingAdmissionPolicyBindings,
                                        kube::kMutatingAdmissionPolicies};

bool IsGatingPolicy(std::string_view plural) {
  return std::any_of(std::begin(kGatingPolicies), std::end(kGatingPolicies),
                     [&](const Resource& resource) { return resource.plural == plural; });
}

// The kContentVersion of a trimmed object.
std::string VersionOf(const Json& object) { return kube::StringAt(object, kContentVersion); }

}  // namespace

std::string ShardNamespaceOf(const Unstructured& object) {
  const kube::meta::ObjectMeta& metadata = object.metadata();
  auto label = metadata.labels().find(std::string(kShardNamespaceLabel));
  if (label == metadata.labels().end()) return "";
  // A tenant can write the label, in his own namespace.
  bool foreign = !metadata.namespace_().empty() && metadata.namespace_() != label->second;
  return foreign ? "" : label->second;
}

OperandStore::OperandStore(kube::Client& client, kube::Clock& clock)
    : client_(client), clock_(clock) {
  for (const Resource& resource : kWatched) AddInformer(resource);
  AddInformer(kube::kValidatingWebhookConfigurations,
              std::string(kValidatingWebhookConfigurationName));
  for (const Resource& resource : kGatingPolicies) AddInformer(resource);
}

void OperandStore::AddInformer(const Resource& resource, const std::string& name) {
  kube::InformerOptions<Unstructured> options;
  options.label_selector = std::string(kManagedBySelector);
  options.resource = resource;
  if (!name.empty()) options.field_selector = "metadata.name=" + name;
  // The operator may not read others.
  if (resource.kind == kube::kConfigMaps.kind)
    options.field_selector = "metadata.name=" + std::string(kSettingsName);
  options.trim = [](Unstructured& object) { object = Unstructured(TrimOperand(object.body())); };
  auto informer = std::make_unique<Informer>(client_, clock_, std::move(options));
  informer->OnEvent([this](kube::EventType, const Unstructured& object) {
    if (listener_) listener_(object);
  });
  std::string key(resource.plural);
  if (!name.empty()) key += "/" + name;
  informers_.emplace(std::move(key), std::move(informer));
}

void OperandStore::Start(kube::TaskGroup& tasks) {
  tasks_ = &tasks;
  for (auto& [plural, informer] : informers_) {
    if (!IsGatingPolicy(plural)) tasks.Spawn("watch-" + plural, informer->Run());
  }
}

Async<> OperandStore::WaitForSync() {
  for (auto& [plural, informer] : informers_) {
    if (IsGatingPolicy(plural)) continue;
    Result<> synced = co_await informer->WaitForSync();
    if (!synced) co_return synced.error();
  }
  co_return Ok();
}

Async<> OperandStore::WatchGatingPolicies() {
  bool start = !std::exchange(watches_gating_policies_, true);
  for (const Resource& resource : kGatingPolicies) {
    Informer& informer = *informers_.find(resource.plural)->second;
    if (start) tasks_->Spawn("watch-" + std::string(resource.plural), informer.Run());
  }
  for (const Resource& resource : kGatingPolicies) {
    Informer& informer = *informers_.find(resource.plural)->second;
    Result<> synced = co_await informer.WaitForSync();
    if (!synced) co_return synced.error();
  }
  co_return Ok();
}

bool OperandStore::WatchValidating(const std::string& name) {
  const Resource& resource = kube::kValidatingWebhookConfigurations;
  std::string key = std::string(resource.plural) + "/" + name;
  if (!informers_.contains(key)) {
    AddInformer(resource, name);
    tasks_->Spawn("watch-" + key, informers_.find(key)->second->Run());
  }
  return informers_.find(key)->second->synced();
}

const OperandStore::Informer* OperandStore::InformerOf(const Resource& resource,
                                                       const std::string& name) const {
  auto found = informers_.find(resource.plural);
  if (found == informers_.end()) found = informers_.find(std::string(resource.plural) + "/" + name);
  return found == informers_.end() ? nullptr : found->second.get();
}

std::optional<Unstructured> OperandStore::Get(const Resource& resource,
                                              const ObjectKey& key) const {
  const Informer* informer = InformerOf(resource, key.name);
  return informer == nullptr ? std::nullopt : informer->Get(key);
}

bool OperandStore::HasAny(const DesiredObjects& objects) const {
  return std::any_of(objects.begin(), objects.end(), [&](const DesiredObject& object) {
    return Get(object.resource, object.Key()).has_value();
  });
}

std::vector<std::string> OperandStore::ShardNamespaces() const {
  std::set<std::string> namespaces;
  for (auto& [plural, informer] : informers_) {
    informer->ForEach([&](const Unstructured& object) {
      std::string ns = ShardNamespaceOf(object);
      if (!ns.empty()) namespaces.insert(std::move(ns));
    });
  }
  return {namespaces.begin(), namespaces.end()};
}

Async<bool> OperandStore::IsAsDesired(Resource resource, ObjectKey key, std::string hash) {
  auto known = applied_.find(std::make_pair(std::string(resource.plural), key));
  bool same = known != applied_.end() && known->second.hash == hash;
  if (InformerOf(resource, key.name) != nullptr) {
    std::optional<Unstructured> current = Get(resource, key);
    if (!current) co_return false;
    if (kube::StringAt(current->body(), kOwnedHash) == hash) co_return true;
    co_return same&& VersionOf(current->body()) == known->second.version;
  }
  if (same && clock_.Now() < known->second.at + kUnwatchedReadEvery) co_return true;
  Result<Unstructured> read = co_await kube::GetObject(client_, resource, key);
  if (IsNotFound(read)) co_return false;
  if (!read) co_return read.error().Prefix("read " + std::string(resource.kind));
  Json current = TrimOperand(read->body());
  if (kube::StringAt(current, kOwnedHash) != hash) co_return false;
  applied_[{std::string(resource.plural), key}] = {hash, VersionOf(current), clock_.Now()};
  co_return true;
}

Async<bool> OperandStore::IsAsDesired(const DesiredObject& object) {
  if (!object.wanted) co_return !Get(object.resource, object.Key());
  std::string hash = OwnedHashOf(object.body);
  co_return co_await IsAsDesired(object.resource, object.Key(), std::move(hash));
}

Async<> OperandStore::Ensure(DesiredObject object, const std::string& log) {
  ObjectKey key = object.Key();
  if (!object.wanted) {
    if (!Get(object.resource, key)) co_return Ok();
    co_return co_await Remove(object.resource, std::move(key), log);
  }
  std::string hash = OwnedHashOf(object.body);
  Result<bool> right = co_await IsAsDesired(object.resource, key, hash);
  if (!right) co_return right.error();
  if (*right) co_return Ok();

  std::string name = std::string(object.resource.kind) + " " + key.ToString();
  kube::ApplyOptions as_operator{.field_manager = std::string(api::kFieldManager)};
  Unstructured body(std::move(object.body));
  Result<Unstructured> applied =
      co_await kube::ApplyObject(client_, object.resource, std::move(body), std::move(as_operator));
  if (!applied) co_return applied.error().Prefix("apply " + name);
  auto id = std::make_pair(std::string(object.resource.plural), key);
  Json stored = TrimOperand(applied->body());
  bool watched = InformerOf(object.resource, key.name) != nullptr;
  bool told_by_watch = watched && kube::StringAt(stored, kOwnedHash) == hash;
  if (told_by_watch) {
    applied_.erase(id);
  } else {
    applied_[id] = {hash, VersionOf(stored), clock_.Now()};
  }
  VLOG(1) << log << " applied " << name;
  co_return Ok();
}

void OperandStore::Forget(const Resource& resource, const ObjectKey& key) {
  applied_.erase(std::make_pair(std::string(resource.plural), key));
}

Async<> OperandStore::Remove(Resource resource, ObjectKey key, const std::string& log) {
  Forget(resource, key);
  std::string name = std::string(resource.kind) + " " + key.ToString();
  Result<> deleted = co_await kube::DeleteObject(client_, resource, std::move(key));
  if (!deleted && !IsNotFound(deleted)) co_return deleted.error().Prefix("delete " + name);
  VLOG(1) << log << " deleted " << name;
  co_return Ok();
}

Async<bool> OperandStore::RemoveForeign(ObjectId object, const std::string& log) {
  if (Get(object.resource, object.key)) co_return false;
  std::string name = std::string(object.resource.kind) + " " + object.key.ToString();
  Result<bool> removed =
      co_await operator_::RemoveForeign(client_, object.resource, std::move(object.key));
  LOG_IF(INFO, removed && *removed)
      << log << " deleted " << name << ", which another operator created";
  co_return removed;
}

}  // namespace operator_
