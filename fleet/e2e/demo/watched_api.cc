// SPDX-License-Identifier: Apache-2.0
#include "fleet/e2e/demo/watched_api.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "fleet/api/fleet_pod_placement.h"
#include "fleet/api/managed_cluster_set.h"
#include "fleet/api/placement.h"
#include "kube/base/clock.h"
#include "kube/client/kubeconfig.h"
#include "kube/client/new_client.h"
#include "kube/client/typed.h"
#include "kube/codec/yaml.h"
#include "kube/types/kinds.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using kube::Error;
using kube::Json;
using kube::Ok;
using kube::Resource;
using kube::Result;
using kube::Unstructured;

constexpr char kName[] = "fleet-demo";

constexpr Resource kApplied[] = {
    kube::kNamespaces,  kube::kClusterRoles,        kube::kCustomResourceDefinitions,
    fleet::kPlacements, fleet::kFleetPodPlacements, fleet::kManagedClusterSetBindings};

std::optional<Resource> ResourceOfKind(const std::string& kind) {
  for (const Resource& resource : kApplied) {
    if (resource.kind == kind) return resource;
  }
  return std::nullopt;
}

std::string NameOf(const Json& object) {
  std::string ns = kube::StringAt(object, "metadata.namespace");
  return kube::StringAt(object, "kind") + " " + (ns.empty() ? "" : ns + "/") +
         kube::StringAt(object, "metadata.name");
}

}  // namespace

Result<std::unique_ptr<WatchedApi>> WatchedApi::Open(boost::asio::io_context& io,
                                                     const std::string& kubeconfig,
                                                     OnChange on_change) {
  auto config = kube::LoadKubeconfig(kubeconfig);
  if (!config) return config.error();
  kube::ClientOptions options{.user_agent = kName};
  auto client = kube::NewClient(io.get_executor(), kube::RealClock(), std::move(*config), options);
  if (!client) return client.error();
  return std::unique_ptr<WatchedApi>(new WatchedApi(io, std::move(*client), std::move(on_change)));
}

WatchedApi::~WatchedApi() {
  kube::IgnoreError(Run(tasks_.Stop(kube::RealClock(), 5s)), "the demo ends");
}

void WatchedApi::Follow(const Resource& resource) {
  auto record = [this, resource](const std::string& type, const Json& object) {
    Record(resource, type, object);
  };
  followers_.push_back(std::make_unique<Follower>(*client_, kube::RealClock(), resource,
                                                  kube::ListOptions(), record));
  tasks_.Spawn("follower", followers_.back()->Run());
}

bool WatchedApi::synced() const {
  return std::all_of(followers_.begin(), followers_.end(),
                     [](const auto& follower) { return follower->synced(); });
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

Result<> WatchedApi::Create(const Resource& resource, Json object) {
  std::string name = NameOf(object);
  auto created = Run(kube::CreateObject(*client_, resource, Unstructured(std::move(object))));
  if (!created) return created.error().Prefix("create " + name);
  return Ok();
}

Result<> WatchedApi::Apply(const Resource& resource, Json object) {
  std::string name = NameOf(object);
  kube::ApplyOptions options{.field_manager = kName};
  auto applied = Run(
      kube::ApplyObject(*client_, resource, Unstructured(std::move(object)), std::move(options)));
  if (!applied) return applied.error().Prefix("apply " + name);
  return Ok();
}

Result<> WatchedApi::ApplyFile(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  if (!in) return Error::NotFound("cannot read " + path);
  Result<std::vector<Json>> objects = kube::ParseYamlDocuments(text.str());
  if (!objects) return objects.error().Prefix(path);
  for (Json& object : *objects) {
    std::optional<Resource> resource = ResourceOfKind(kube::StringAt(object, "kind"));
    if (!resource)
      return Error::Invalid(path + ": the demo does not know the kind of " + NameOf(object));
    Result<> applied = Apply(*resource, std::move(object));
    if (!applied) return applied;
  }
  return Ok();
}

}  // namespace e2e
