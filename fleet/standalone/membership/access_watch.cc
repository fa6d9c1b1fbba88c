// SPDX-License-Identifier: Apache-2.0
#include "fleet/standalone/membership/access_watch.h"

#include <optional>
#include <utility>
#include <vector>

namespace fleet {
namespace {

using kube::Json;
using kube::ObjectKey;
using kube::Result;
using kube::Unstructured;

constexpr char kOwned[] = "owned";
constexpr char kAsWanted[] = "asWanted";

std::string ClusterOf(const Unstructured& object) {
  const auto& labels = object.metadata().labels();
  auto label = labels.find(std::string(kClusterNameLabel));
  return label == labels.end() ? "" : label->second;
}

// The field that gives the right; a ServiceAccount has none.
bool HasContentOf(const Json& wanted, const Json& stored) {
  for (const char* field : {"rules", "roleRef", "subjects"}) {
    if (wanted.contains(field) && (!stored.contains(field) || stored[field] != wanted[field]))
      return false;
  }
  return true;
}

// Replaces the object by what is kept of it.
void Trim(Unstructured& object, size_t part) {
  std::string cluster = ClusterOf(object);
  bool owned = !cluster.empty() && kube::KeyOf(object) == AccessKey(cluster, part);
  bool as_wanted = owned && !object.metadata().has_deletion_timestamp() &&
                   HasContentOf(AgentAccess(cluster)[part], object.body());
  Json kept = Json::object();
  kept[kOwned] = owned;
  kept[kAsWanted] = as_wanted;
  object = Unstructured(std::move(kept));
}

bool Holds(const kube::Informer<Unstructured>& informer, const ObjectKey& key, const char* field) {
  std::optional<Unstructured> kept = informer.Get(key);
  return kept && kube::BoolAt(kept->body(), field);
}

}  // namespace

ObjectKey AccessKey(const std::string& cluster, size_t part) {
  std::string name(kAgentAccess);
  if (kAgentAccessResources[part].namespaced) return {cluster, std::move(name)};
  return {"", name + ":" + cluster};
}

AccessWatch::AccessWatch(kube::Client& client, kube::Clock& clock, Changed changed) {
  for (size_t part = 0; part < kParts; ++part) {
    const kube::Resource& resource = kAgentAccessResources[part];
    kube::InformerOptions<Unstructured> options;
    options.label_selector = std::string(kClusterNameLabel);
    // The hub needs no right to read the others.
    if (resource.namespaced) options.field_selector = "metadata.name=" + std::string(kAgentAccess);
    options.trim = [part](Unstructured& object) { Trim(object, part); };
    options.resource = resource;
    parts_[part] = std::make_unique<Informer>(client, clock, std::move(options));
    parts_[part]->OnChange([changed, part](kube::EventType, const ObjectKey& key) {
      std::string cluster = key.ns;
      if (cluster.empty() && key.name.size() > kAgentAccess.size())
        cluster = key.name.substr(kAgentAccess.size() + 1);
      // Another object with the label.
      if (!cluster.empty() && key == AccessKey(cluster, part)) changed(cluster);
    });
  }
}

void AccessWatch::Start(kube::TaskGroup& tasks) {
  for (size_t part = 0; part < kParts; ++part) {
    tasks.Spawn("watch-" + std::string(kAgentAccessResources[part].plural), parts_[part]->Run());
  }
}

kube::Async<> AccessWatch::WaitForSync() {
  for (const auto& part : parts_) {
    Result<> synced = co_await part->WaitForSync();
    if (!synced) co_return synced.error();
  }
  co_return kube::Ok();
}

bool AccessWatch::Exists(const std::string& cluster, size_t part) const {
  return Holds(*parts_[part], AccessKey(cluster, part), kOwned);
}

bool AccessWatch::IsAsWanted(const std::string& cluster, size_t part) const {
  return Holds(*parts_[part], AccessKey(cluster, part), kAsWanted);
}

}  // namespace fleet
