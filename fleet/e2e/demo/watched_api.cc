// SPDX-License-Identifier: Apache-2.0
#include "fleet/e2e/demo/watched_api.h"

#include <chrono>
#include <utility>

#include "kube/client/typed.h"

namespace e2e {

using kube::Json;
using kube::Resource;

WatchedApi::~WatchedApi() {
  kube::IgnoreError(cluster_.Run(tasks_.Stop(cluster_.clock(), std::chrono::seconds(5))),
                    "the demo ends");
}

void WatchedApi::Follow(const Resource& resource) {
  auto record = [this, resource](const std::string& type, const Json& object) {
    Record(resource, type, object);
  };
  followers_.push_back(std::make_unique<Follower>(cluster_.client(), cluster_.clock(), resource,
                                                  kube::ListOptions(), record));
  tasks_.Spawn("follower", followers_.back()->Run());
}

void WatchedApi::Record(const Resource& resource, const std::string& type, const Json& object) {
  kube::ObjectKey key{kube::StringAt(object, "metadata.namespace"),
                      kube::StringAt(object, "metadata.name")};
  Json& stored = objects_[resource.plural][key];
  const Json before = std::exchange(stored, type == "DELETED" ? Json() : object);
  on_change_(resource, before, stored);
}

const Json& WatchedApi::Find(const Resource& resource, const kube::ObjectKey& key) const {
  static const Json kNone;
  auto of_kind = objects_.find(resource.plural);
  if (of_kind == objects_.end()) return kNone;
  auto found = of_kind->second.find(key);
  return found == of_kind->second.end() ? kNone : found->second;
}

std::vector<Json> WatchedApi::All(const Resource& resource) const {
  std::vector<Json> all;
  auto of_kind = objects_.find(resource.plural);
  if (of_kind == objects_.end()) return all;
  for (const auto& [key, object] : of_kind->second) {
    if (!object.is_null()) all.push_back(object);
  }
  return all;
}

}  // namespace e2e
