// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/collector.h"

#include <glog/logging.h>

#include "kube/types/kinds.h"
#include "kube/types/unstructured.h"

namespace sim {
namespace {

using namespace std::chrono_literals;
using kube::Json;

// namespaceDeletionGracePeriod of the controller of namespaces.
constexpr kube::Duration kNamespaceGrace = 5s;

constexpr char kGarbageCollector[] = "system:serviceaccount:kube-system:generic-garbage-collector";
constexpr char kNamespaceController[] = "system:serviceaccount:kube-system:namespace-controller";

// "/api/v1/namespaces/shop/pods/web".
std::string PathOf(const std::string& collection, const kube::ObjectKey& key) {
  if (key.ns.empty()) return collection + "/" + key.name;
  const size_t plural = collection.rfind('/');
  return collection.substr(0, plural) + "/namespaces/" + key.ns + collection.substr(plural) + "/" +
         key.name;
}

}  // namespace

void Collector::OnCommit(const kube::StoreCommit& commit) {
  const Name name(commit.collection, commit.key);
  auto known = objects_.find(name);
  if (!commit.after) {
    if (known != objects_.end()) uids_.erase(known->second.uid);
    objects_.erase(name);
    CollectSoon();
    return;
  }
  const Json& after = *commit.after;
  Object object{.uid = kube::StringAt(after, "metadata.uid"), .owners = {}};
  if (const Json* owners = kube::Find(after, "metadata.ownerReferences")) {
    for (const Json& owner : *owners) object.owners.insert(kube::StringAt(owner, "uid"));
  }
  object.being_deleted = kube::Find(after, "metadata.deletionTimestamp") != nullptr;
  if (commit.collection == kube::kNamespaces.Path() && object.being_deleted) {
    object.emptied_from = loop_.now() + kNamespaceGrace;
    if (known != objects_.end() && known->second.emptied_from)
      object.emptied_from = known->second.emptied_from;
    CollectAt(*object.emptied_from);
  }
  const bool owned = known == objects_.end() && !object.owners.empty();
  uids_.insert(object.uid);
  objects_.insert_or_assign(name, std::move(object));
  if (owned) CollectSoon();
}

void Collector::CollectSoon() {
  if (due_) return;
  due_ = true;
  CollectAt(loop_.now() + random_.Between(100ms, 1s));
}

void Collector::CollectAt(kube::TimePoint when) {
  loop_.At(when, [this] {
    due_ = false;
    Collect();
  });
}

void Collector::Collect() {
  // Deletions change the map.
  std::vector<Name> garbage, namespaces;
  for (const auto& [name, object] : objects_) {
    if (object.emptied_from && *object.emptied_from <= loop_.now()) namespaces.push_back(name);
    if (!object.being_deleted && !HasOwner(object)) garbage.push_back(name);
  }
  for (const Name& name : garbage) Delete(name, kGarbageCollector);
  for (const Name& ns : namespaces) Empty(ns);
}

bool Collector::HasOwner(const Object& object) const {
  if (object.owners.empty()) return true;
  for (const std::string& owner : object.owners) {
    if (uids_.contains(owner)) return true;
  }
  return false;
}

void Collector::Empty(const Name& ns) {
  std::vector<Name> content;
  bool waits = false;
  for (const auto& [name, object] : objects_) {
    if (name.second.ns != ns.second.name) continue;
    waits |= object.being_deleted;
    if (!object.being_deleted) content.push_back(name);
  }
  if (content.empty() && !waits) return Finalize(ns);
  for (const Name& name : content) {
    if (random_.OnceIn(2)) Delete(name, kNamespaceController);
  }
  if (!content.empty()) CollectSoon();
}

void Collector::Delete(const Name& name, const char* user) {
  const auto& [collection, key] = name;
  kube::Result<kube::ApiResponse> deleted =
      store_.Handle({.user = user, .trusted = true},
                    {.method = kube::Method::kDelete, .target = PathOf(collection, key)});
  CHECK(deleted) << collection << " " << key.ToString() << ": " << deleted.error();
}

void Collector::Finalize(const Name& ns) {
  const kube::Caller controller{.user = kNamespaceController, .trusted = true};
  const std::string path = PathOf(ns.first, ns.second);
  kube::Result<kube::ApiResponse> stored = store_.Handle(controller, {.target = path});
  CHECK(stored) << path << ": " << stored.error();
  Json finalized = kube::MustParseJson(stored->body);
  finalized["spec"]["finalizers"] = Json::array();
  kube::Result<kube::ApiResponse> written =
      store_.Handle(controller, {.method = kube::Method::kPut,
                                 .target = path,
                                 .content_type = std::string(kube::kJson),
                                 .body = kube::DumpJson(finalized)});
  CHECK(written) << path << ": " << written.error();
}

}  // namespace sim
