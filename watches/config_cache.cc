// SPDX-License-Identifier: Apache-2.0
#include "watches/config_cache.h"

#include <algorithm>
#include <set>
#include <utility>

#include "api/validation.h"

namespace watches {
namespace {

using api::PodPlacementConfig;
using kube::AgeBudget;
using kube::Json;
using kube::ObjectKey;
using kube::Result;
using kube::Unstructured;

constexpr kube::CacheBudget kBudget{.object = api::kMaxConfigBytes,
                                    .one_namespace = api::kMaxNamespaceConfigBytes,
                                    .total = api::kMaxConfigsBytes};
// Of packed objects, so that configs over a budget can come back into force. Beyond this, a config
// is not in force until it changes.
constexpr kube::CacheBudget kPackedBudget{
    .object = 128 * 1024, .one_namespace = 1024 * 1024, .total = 8 * 1024 * 1024};
constexpr size_t kMaxObjects = 20'000;
// The operator writes less.
constexpr size_t kMaxStatusBytes = 16 * 1024;
constexpr size_t kMaxFinalizers = 8;

// A field of a kept object: PodPlacementConfig::spec_bytes.
constexpr char kSpecBytes[] = "specBytes";

// What is left of a spec that is not in force.
Json BareSpec(const Json& object) {
  return {{"priority", kube::IntAt(object, "spec.priority")}, {"plugins", Json::object()}};
}

// Most bytes of a stored object are managed fields, and a user can add megabytes of metadata.
void Trim(Unstructured& object) {
  Json kept = {{"metadata", Json::object()}};
  for (const char* name : {"name", "namespace", "uid", "creationTimestamp", "deletionTimestamp",
                           "resourceVersion", "generation"}) {
    if (const Json* value = kube::Find(object.body(), std::string("metadata.") + name))
      kept["metadata"][name] = *value;
  }
  const Json* finalizers = kube::Find(object.body(), "metadata.finalizers");
  if (finalizers != nullptr && finalizers->is_array()) {
    size_t count = std::min(finalizers->size(), kMaxFinalizers);
    for (size_t i = 0; i < count; ++i) kept["metadata"]["finalizers"].push_back((*finalizers)[i]);
  }
  const Json* status = kube::Find(object.body(), "status");
  if (status != nullptr && kube::PackJson(*status).size() <= kMaxStatusBytes)
    kept["status"] = *status;
  if (const Json* spec = kube::Find(object.body(), "spec")) {
    size_t bytes = kube::DumpJson(*spec).size();
    kept[kSpecBytes] = bytes;
    kept["spec"] = bytes <= api::kMaxConfigBytes ? *spec : BareSpec(object.body());
  }
  object = Unstructured(std::move(kept));
}

std::string Stub(std::string_view packed) {
  Result<Json> object = kube::UnpackJson(packed);
  if (!object) return std::string(packed);
  (*object)["spec"] = BareSpec(*object);
  return kube::PackJson(*object);
}

kube::InformerOptions<Unstructured> Options(std::string ns) {
  kube::InformerOptions<Unstructured> options;
  options.ns = std::move(ns);
  options.resource = kube::ResourceOf<PodPlacementConfig>::value;
  options.trim = Trim;
  options.budget = kPackedBudget;
  options.stub = Stub;
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

// The config of a trimmed object, without its spec if it is too large.
Result<PodPlacementConfig> ConfigOf(const Unstructured& object) {
  Result<PodPlacementConfig> config = PodPlacementConfig::FromJson(object.body());
  if (!config) return config.error();
  config->spec_bytes = static_cast<size_t>(kube::IntAt(object.body(), kSpecBytes));
  if (config->spec_bytes > api::kMaxConfigBytes)
    config->LeaveOut(api::TooManyBytes(config->spec_bytes));
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
    : watch_(client, clock, Options(std::move(ns))), budget_(kBudget) {
  watch_.OnEvent(
      [this](kube::EventType type, const Unstructured& object) { OnEvent(type, object); });
}

void ConfigCache::OnEvent(kube::EventType type, const Unstructured& object) {
  ObjectKey key = kube::KeyOf(object);
  std::set<std::string> changed = {key.ns};
  if (type == kube::EventType::kDeleted) {
    budget_.Remove(key);
    auto found = namespaces_.find(key.ns);
    if (found != namespaces_.end()) {
      found->second.entries.erase(key.name);
      if (found->second.entries.empty()) namespaces_.erase(found);
    }
    if (on_deleted_) on_deleted_(key.ns, object.metadata().uid());
  } else {
    Put(key, object);
  }
  for (const ObjectKey& moved : budget_.TakeChanged()) changed.insert(moved.ns);
  for (const std::string& ns : changed) {
    if (auto found = namespaces_.find(ns); found != namespaces_.end())
      found->second.configs = nullptr;
    if (on_change_) on_change_(ns);
  }
}

void ConfigCache::Put(const ObjectKey& key, const Unstructured& object) {
  Result<PodPlacementConfig> config = ConfigOf(object);
  Entry& entry = namespaces_[key.ns].entries[key.name];
  entry.version = {object.metadata().uid(), object.metadata().generation()};
  entry.may_prefer = config && config->MayPrefer();
  entry.gated_by_policy = config && config->status.gated_by == api::kGatedByPolicy;
  // A stub cannot be in force, and as too large it counts for no other.
  bool complete = config && watch_.Complete(key);
  size_t bytes = complete ? config->BudgetBytes() : kBudget.object + 1;
  budget_.Put(key, CreatedAt(object), bytes);
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
    std::optional<Unstructured> object = watch_.Get(key);
    if (!object) continue;
    Result<PodPlacementConfig> config = ConfigOf(*object);
    if (!config) continue;
    ApplyLimit(budget_.Exceeds(key), *config);
    configs.push_back(std::move(*config));
  }
  shared = InOrder(std::move(configs));
  return shared;
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

bool ConfigCache::MayPrefer(const std::string& ns) const {
  auto found = namespaces_.find(ns);
  if (found == namespaces_.end()) return false;
  const auto& entries = found->second.entries;
  return std::any_of(entries.begin(), entries.end(), [&](const auto& entry) {
    return entry.second.may_prefer && budget_.Fits({ns, entry.first});
  });
}

bool ConfigCache::GatedByPolicy(const std::string& ns) const {
  auto found = namespaces_.find(ns);
  if (found == namespaces_.end()) return false;
  const auto& entries = found->second.entries;
  return std::any_of(entries.begin(), entries.end(),
                     [](const auto& entry) { return entry.second.gated_by_policy; });
}

BoundedConfigs::BoundedConfigs() : budget_(kBudget) {}

void BoundedConfigs::Add(Unstructured object) {
  Trim(object);
  Result<PodPlacementConfig> config = ConfigOf(object);
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
