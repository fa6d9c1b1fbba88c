// SPDX-License-Identifier: Apache-2.0
#include "watches/config_cache.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>

#include "api/conditions.h"
#include "api/find_condition.h"
#include "api/validation.h"
#include "kube/base/backoff.h"
#include "kube/base/task_group.h"
#include "kube/base/utf8.h"
#include "kube/client/typed.h"

namespace watches {
namespace {

using api::PodPlacementConfig;
using kube::AgeBudget;
using kube::Json;
using kube::ObjectKey;
using kube::Result;
using kube::Unstructured;
using namespace std::chrono_literals;

constexpr kube::CacheBudget kBudget{.object = api::kMaxConfigBytes,
                                    .one_namespace = api::kMaxNamespaceConfigBytes,
                                    .total = api::kMaxConfigsBytes};
// The oldest configs of a namespace up to here are in force whatever other namespaces have.
constexpr size_t kNamespaceShare = 4 * 1024;
constexpr size_t kMaxObjects = 20'000;
// The operator writes less (operator/status/shard_status.cc).
constexpr size_t kMaxStatusBytes = 16 * 1024;
// For messages.
constexpr int kMaxFinalizers = 4;
constexpr size_t kMaxFinalizerBytes = 64;
constexpr kube::BackoffOptions kReadRetry{.base = 100ms, .cap = 5s};
constexpr kube::Duration kStopWithin = 5s;

// A field of a kept object: PodPlacementConfig::spec_bytes.
constexpr char kSpecBytes[] = "specBytes";

// What is left of a spec that is not in force.
Json BareSpec(const Json& object) {
  return {{"priority", kube::IntAt(object, "spec.priority")}, {"plugins", Json::object()}};
}

// Most bytes of a stored object are managed fields, and a user can add megabytes of metadata.
Unstructured Trimmed(const Unstructured& object) {
  Json kept = {{"metadata", Json::object()}};
  for (const char* name : {"name", "namespace", "uid", "creationTimestamp", "deletionTimestamp",
                           "resourceVersion", "generation"}) {
    if (const Json* value = kube::Find(object.body(), std::string("metadata.") + name))
      kept["metadata"][name] = *value;
  }
  const auto& finalizers = object.metadata().finalizers();
  for (int i = 0; i < std::min(finalizers.size(), kMaxFinalizers); ++i) {
    kept["metadata"]["finalizers"].push_back(
        std::string(kube::CutUtf8(finalizers[i], kMaxFinalizerBytes)));
  }
  const Json* status = kube::Find(object.body(), "status");
  if (status != nullptr && kube::PackJson(*status).size() <= kMaxStatusBytes)
    kept["status"] = *status;
  if (const Json* spec = kube::Find(object.body(), "spec")) {
    size_t bytes = kube::DumpJson(*spec).size();
    kept[kSpecBytes] = bytes;
    kept["spec"] = bytes <= api::kMaxConfigBytes ? *spec : BareSpec(object.body());
  }
  return Unstructured(std::move(kept));
}

Result<std::string> WithSpec(std::string_view packed, Json spec) {
  Result<Json> object = kube::UnpackJson(packed);
  if (!object) return object.error();
  (*object)["spec"] = std::move(spec);
  return kube::PackJson(*object);
}

std::string WithoutSpec(std::string_view packed) {
  Result<Json> object = kube::UnpackJson(packed);
  if (!object) return std::string(packed);
  (*object)["spec"] = BareSpec(*object);
  return kube::PackJson(*object);
}

kube::InformerOptions<Unstructured> Options(std::string ns,
                                            std::function<void(Unstructured&)> receive) {
  kube::InformerOptions<Unstructured> options;
  options.ns = std::move(ns);
  options.resource = kube::ResourceOf<PodPlacementConfig>::value;
  options.trim = std::move(receive);
  options.max_objects = kMaxObjects;
  return options;
}

// Why a config is over the budget of more than one.
std::string Describe(AgeBudget::Limit limit) {
  bool of_namespace = limit == AgeBudget::Limit::kNamespace;
  size_t bytes = of_namespace ? kBudget.one_namespace : kBudget.total;
  return std::string("is not in force: the PodPlacementConfigs of ") +
         (of_namespace ? "this namespace" : "all namespaces") + " have more than " +
         std::to_string(bytes) + " bytes as JSON, and the oldest ones stay in force";
}

// Whether the operator, which knows all namespaces, says so of this generation.
bool IsOverTotal(const PodPlacementConfig& config) {
  const api::Condition* degraded = api::FindCondition(config.status.conditions, api::kDegraded);
  return degraded != nullptr && degraded->status == "True" &&
         degraded->observed_generation == config.metadata().generation() &&
         degraded->message.find(Describe(AgeBudget::Limit::kTotal)) != std::string::npos;
}

// The config of a trimmed object, without its spec if it is too large.
Result<PodPlacementConfig> ConfigOf(const Json& object, bool one_namespace) {
  Result<PodPlacementConfig> config = PodPlacementConfig::FromJson(object);
  if (!config) return config.error();
  config->spec_bytes = static_cast<size_t>(kube::IntAt(object, kSpecBytes));
  if (config->spec_bytes > api::kMaxConfigBytes) {
    config->LeaveOut(api::TooManyBytes(config->spec_bytes));
  } else if (one_namespace && IsOverTotal(*config)) {
    config->LeaveOut(Describe(AgeBudget::Limit::kTotal));
  }
  return config;
}

// Removes the spec of a config that is over the budget of more than one.
void ApplyLimit(AgeBudget::Limit limit, PodPlacementConfig& config) {
  if (limit == AgeBudget::Limit::kNone || config.spec_bytes > api::kMaxConfigBytes) return;
  config.LeaveOut(Describe(limit));
}

std::string CreatedAt(const Unstructured& object) {
  return kube::StringAt(object.body(), "metadata.creationTimestamp");
}

ConfigCache::Configs InOrder(std::vector<PodPlacementConfig> configs) {
  std::sort(configs.begin(), configs.end(), api::Precedes);
  return std::make_shared<const std::vector<PodPlacementConfig>>(std::move(configs));
}

}  // namespace

ConfigCache::ConfigCache(kube::Client& client, kube::Clock& clock, std::string ns)
    : client_(client),
      clock_(clock),
      one_namespace_(!ns.empty()),
      watch_(client, clock, Options(ns, [this](Unstructured& object) { Receive(object); })),
      budget_(kBudget, kNamespaceShare) {
  watch_.OnEvent(
      [this](kube::EventType type, const Unstructured& object) { OnEvent(type, object); });
}

kube::asio::awaitable<void> ConfigCache::Run() {
  co_await kube::IgnoreCancellation();
  kube::Executor executor = co_await kube::asio::this_coro::executor;
  kube::TaskGroup tasks(executor);
  tasks.Spawn("configs", watch_.Run());
  tasks.Spawn("missing-configs", ReadMissing());
  Result<> stopped = co_await stopped_.Wait();
  while (!stopped) {
    co_await kube::ForgetCancellation();
    stopped = co_await tasks.Stop(clock_, kStopWithin);
  }
}

void ConfigCache::Receive(Unstructured& object) {
  received_ = Trimmed(object);
  const kube::meta::ObjectMeta& metadata = object.metadata();
  Json bare = {
      {"name", metadata.name()}, {"namespace", metadata.namespace_()}, {"uid", metadata.uid()}};
  Json body;
  body["metadata"] = std::move(bare);
  object = Unstructured(std::move(body));
}

void ConfigCache::OnEvent(kube::EventType type, const Unstructured& object) {
  ObjectKey key = kube::KeyOf(object);
  std::optional<Unstructured> received = std::exchange(received_, std::nullopt);
  if (type == kube::EventType::kDeleted) {
    Remove(key);
    if (on_deleted_) on_deleted_(key.ns, object.metadata().uid());
  } else {
    CHECK(received && kube::KeyOf(*received) == key) << "each event follows its Receive()";
    Put(key, std::move(*received));
  }
  std::set<std::string> changed = {key.ns};
  for (const ObjectKey& moved : budget_.TakeChanged()) {
    if (moved != key) Refit(moved);
    changed.insert(moved.ns);
  }
  for (const std::string& ns : changed) Notify(ns);
}

void ConfigCache::Notify(const std::string& ns) {
  if (auto found = namespaces_.find(ns); found != namespaces_.end())
    found->second.configs = nullptr;
  if (on_change_) on_change_(ns);
}

void ConfigCache::Put(const ObjectKey& key, Unstructured object) {
  Result<PodPlacementConfig> config = ConfigOf(object.body(), one_namespace_);
  Entry& entry = namespaces_[key.ns].entries[key.name];
  entry.version = {object.metadata().uid(), object.metadata().generation()};
  entry.may_change_pods = config && config->MayChangePods();
  entry.gated_by_policy = config && config->status.gated_by == api::kGatedByPolicy;
  budget_.Put(key, CreatedAt(object), config ? config->BudgetBytes() : kBudget.object + 1);
  entry.packed = kube::PackJson(object.body());
  entry.has_spec = true;
  Refit(key);
}

void ConfigCache::Remove(const ObjectKey& key) {
  budget_.Remove(key);
  missing_.erase(key);
  auto found = namespaces_.find(key.ns);
  if (found == namespaces_.end()) return;
  found->second.entries.erase(key.name);
  if (found->second.entries.empty()) namespaces_.erase(found);
}

void ConfigCache::Refit(const ObjectKey& key) {
  Entry& entry = *EntryOf(key);
  missing_.erase(key);
  if (budget_.Fits(key) && !entry.has_spec) {
    missing_.insert(key);
    missing_added_.NotifyAll();
  } else if (!budget_.Fits(key) && std::exchange(entry.has_spec, false)) {
    entry.packed = WithoutSpec(entry.packed);
  }
}

kube::asio::awaitable<void> ConfigCache::ReadMissing() {
  co_await kube::IgnoreCancellation();
  kube::Backoff backoff(kReadRetry);
  std::string ns;
  while (true) {
    while (missing_.empty()) {
      Result<> added = co_await missing_added_.Wait();
      if (!added) co_return;
    }
    // Namespaces take turns: one with many delays no other.
    auto next = missing_.lower_bound({ns + '\0', ""});
    ObjectKey key = next == missing_.end() ? *missing_.begin() : *next;
    ns = key.ns;
    // A list of one object needs no further permission, and of any version it costs little.
    kube::ListOptions one{
        .ns = key.ns, .field_selector = "metadata.name=" + key.name, .resource_version = "0"};
    auto read = co_await kube::ListObjects(client_, kube::ResourceOf<PodPlacementConfig>::value,
                                           std::move(one));
    bool cancelled = co_await kube::IsCancelled();
    if (cancelled) co_return;
    if (!missing_.contains(key)) continue;
    Entry& entry = *EntryOf(key);
    if (read && read->items.size() == 1 && read->items[0].metadata().uid() == entry.version.uid &&
        read->items[0].metadata().generation() == entry.version.generation) {
      const Json* spec = kube::Find(read->items[0].body(), "spec");
      Result<std::string> packed = WithSpec(entry.packed, spec != nullptr ? *spec : Json::object());
      if (packed) entry.packed = std::move(*packed);
      entry.has_spec = true;
      missing_.erase(key);
      backoff.Reset();
      Notify(key.ns);
      continue;
    }
    // The watch is behind, or the API server is not available.
    kube::Duration delay = backoff.Next();
    Result<> slept = co_await clock_.Sleep(delay);
    if (!slept) co_return;
  }
}

ConfigCache::Configs ConfigCache::In(const std::string& ns) {
  static const Configs kNone = std::make_shared<const std::vector<PodPlacementConfig>>();
  auto found = namespaces_.find(ns);
  if (found == namespaces_.end()) return kNone;
  Configs& shared = found->second.configs;
  if (shared != nullptr) return shared;
  std::vector<PodPlacementConfig> configs;
  configs.reserve(found->second.entries.size());
  for (const auto& [name, entry] : found->second.entries) {
    ObjectKey key{ns, name};
    Result<Json> object = kube::UnpackJson(entry.packed);
    if (!object) continue;
    Result<PodPlacementConfig> config = ConfigOf(*object, one_namespace_);
    if (!config) continue;
    ApplyLimit(budget_.Exceeds(key), *config);
    if (missing_.contains(key))
      config->LeaveOut("is not in force yet: there is room again, and it is being read");
    configs.push_back(std::move(*config));
  }
  shared = InOrder(std::move(configs));
  return shared;
}

ConfigCache::Entry* ConfigCache::EntryOf(const ObjectKey& key) {
  auto found = namespaces_.find(key.ns);
  if (found == namespaces_.end()) return nullptr;
  auto entry = found->second.entries.find(key.name);
  return entry == found->second.entries.end() ? nullptr : &entry->second;
}

const ConfigCache::Version* ConfigCache::Find(const std::string& ns,
                                              const std::string& name) const {
  auto found = namespaces_.find(ns);
  if (found == namespaces_.end()) return nullptr;
  auto entry = found->second.entries.find(name);
  return entry == found->second.entries.end() ? nullptr : &entry->second.version;
}

std::vector<std::string> ConfigCache::Namespaces() const {
  std::vector<std::string> namespaces;
  namespaces.reserve(namespaces_.size());
  for (const auto& [ns, of_namespace] : namespaces_) namespaces.push_back(ns);
  return namespaces;
}

bool ConfigCache::MayChangePods(const std::string& ns) const {
  auto found = namespaces_.find(ns);
  if (found == namespaces_.end()) return false;
  const auto& entries = found->second.entries;
  return std::any_of(entries.begin(), entries.end(), [&](const auto& entry) {
    return entry.second.may_change_pods && entry.second.has_spec;
  });
}

bool ConfigCache::GatedByPolicy(const std::string& ns) const {
  auto found = namespaces_.find(ns);
  if (found == namespaces_.end()) return false;
  const auto& entries = found->second.entries;
  return std::any_of(entries.begin(), entries.end(),
                     [](const auto& entry) { return entry.second.gated_by_policy; });
}

BoundedConfigs::BoundedConfigs() : budget_(kBudget, kNamespaceShare) {}

void BoundedConfigs::Add(const Unstructured& object) {
  Unstructured trimmed = Trimmed(object);
  Result<PodPlacementConfig> config = ConfigOf(trimmed.body(), /*one_namespace=*/true);
  if (!config) return;
  ObjectKey key = kube::KeyOf(object);
  budget_.Put(key, CreatedAt(object), config->BudgetBytes());
  configs_.insert_or_assign(key, std::move(*config));
  ApplyLimit(budget_.Exceeds(key), configs_.at(key));
  // More objects leave out more of them, so what is left out now stays so.
  for (const ObjectKey& moved : budget_.TakeChanged()) {
    if (auto known = configs_.find(moved); known != configs_.end())
      ApplyLimit(budget_.Exceeds(moved), known->second);
  }
}

ConfigCache::Configs BoundedConfigs::Take() {
  std::vector<PodPlacementConfig> configs;
  configs.reserve(configs_.size());
  for (auto& [key, config] : configs_) configs.push_back(std::move(config));
  configs_.clear();
  return InOrder(std::move(configs));
}

}  // namespace watches
