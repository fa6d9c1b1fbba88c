// SPDX-License-Identifier: Apache-2.0
#include "e2e/framework/all_objects.h"

#include <algorithm>
#include <vector>

#include "kube/client/typed.h"

namespace e2e {

using kube::Json;
using kube::Ok;
using kube::Resource;
using kube::Result;

namespace {

// The strings of a Resource.
struct Kind {
  std::string group, version, plural, kind;
};

Result<Json> GetJson(Cluster& cluster, const std::string& target) {
  auto answer = cluster.Run(cluster.client().Call(kube::ApiRequest{.target = target}));
  if (!answer) return answer.error().Prefix(target);
  return kube::ParseJson(answer->body);
}

bool IsListed(const Json& resource) {
  const Json verbs = resource.value("verbs", Json::array());
  std::string name = kube::StringAt(resource, "name");
  return std::find(verbs.begin(), verbs.end(), "list") != verbs.end() &&
         name.find('/') == std::string::npos && name != "events" && name != "endpoints" &&
         name != "componentstatuses";
}

// The kinds of one group version, such as "apps/v1" or "v1".
Result<> AddKinds(Cluster& cluster, const std::string& group_version, std::vector<Kind>& kinds) {
  size_t slash = group_version.find('/');
  bool core = slash == std::string::npos;
  Result<Json> list = GetJson(cluster, (core ? "/api/" : "/apis/") + group_version);
  if (!list) return list.error();
  for (const Json& resource : list->value("resources", Json::array())) {
    if (!IsListed(resource)) continue;
    kinds.push_back({core ? "" : group_version.substr(0, slash),
                     core ? group_version : group_version.substr(slash + 1),
                     kube::StringAt(resource, "name"), kube::StringAt(resource, "kind")});
  }
  return Ok();
}

}  // namespace

Result<Objects> AllObjects(Cluster& cluster) {
  std::vector<Kind> kinds;
  Result<> added = AddKinds(cluster, "v1", kinds);
  if (!added) return added.error();
  Result<Json> groups = GetJson(cluster, "/apis");
  if (!groups) return groups.error();
  for (const Json& group : groups->value("groups", Json::array())) {
    added = AddKinds(cluster, kube::StringAt(group, "preferredVersion.groupVersion"), kinds);
    // A group may go with its last CRD.
    if (!added && !IsNotFound(added)) return added.error();
  }

  Objects objects;
  for (const Kind& kind : kinds) {
    Resource resource{kind.group, kind.version, kind.plural, kind.kind};
    auto list = cluster.Run(kube::ListObjects(cluster.client(), resource, kube::ListOptions()));
    if (IsNotFound(list)) continue;
    if (!list) return list.error().Prefix("list " + kind.plural);
    for (const kube::Unstructured& item : list->items) {
      if (kind.plural == "leases" && item.metadata().namespace_().starts_with("kube-")) continue;
      Json object = item.body();
      for (const char* field : {"resourceVersion", "generation", "managedFields"})
        object["metadata"].erase(field);
      objects[kind.kind + " " + kube::KeyOf(item).ToString()] = std::move(object);
    }
  }
  return objects;
}

std::string Difference(const Objects& before, const Objects& after) {
  std::string text;
  for (const auto& [name, object] : before) {
    auto same = after.find(name);
    if (same == after.end()) {
      text += "gone: " + name + "\n";
    } else if (same->second != object) {
      text += "changed: " + name + ": " + kube::DumpJson(Json::diff(object, same->second)) + "\n";
    }
  }
  for (const auto& [name, object] : after) {
    if (!before.contains(name)) text += "new: " + name + "\n";
  }
  return text;
}

}  // namespace e2e
