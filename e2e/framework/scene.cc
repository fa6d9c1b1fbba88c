// SPDX-License-Identifier: Apache-2.0
#include "e2e/framework/scene.h"

#include <algorithm>
#include <chrono>
#include <sstream>

#include "e2e/framework/resources.h"
#include "kube/client/typed.h"

namespace e2e {

using namespace std::chrono_literals;
using kube::Error;
using kube::ObjectKey;
using kube::Ok;
using kube::Resource;
using kube::Result;
using kube::Unstructured;

namespace {

constexpr size_t kMostPodsDescribed = 20;
constexpr size_t kMostEventsDescribed = 40;

// "web: gates=[..] node=.. phase=.. {labels}"
std::string Summary(const Json& pod) {
  std::ostringstream out;
  const Json* gates = kube::Find(pod, "spec.schedulingGates");
  const Json* labels = kube::Find(pod, "metadata.labels");
  out << "  " << kube::StringAt(pod, "metadata.name")
      << ": gates=" << (gates == nullptr ? "[]" : kube::DumpJson(*gates)) << " node=" << NodeOf(pod)
      << " phase=" << kube::StringAt(pod, "status.phase")
      << " rv=" << kube::StringAt(pod, "metadata.resourceVersion")
      << " labels=" << (labels == nullptr ? "{}" : kube::DumpJson(*labels));
  return out.str();
}

std::string EventLine(const Json& event) {
  return "  " + kube::StringAt(event, "type") + " " + kube::StringAt(event, "reason") + " " +
         kube::StringAt(event, "involvedObject.kind") + "/" +
         kube::StringAt(event, "involvedObject.name") + ": " + kube::StringAt(event, "message");
}

Json WithoutManagedFields(Json object) {
  if (object.contains("metadata")) object["metadata"].erase("managedFields");
  return object;
}

}  // namespace

Scene::Scene(Cluster& cluster, std::string ns)
    : cluster_(cluster),
      ns_(std::move(ns)),
      pods_(cluster.client(), cluster.clock(), ns_),
      tasks_(cluster.io().get_executor()) {}

Scene::~Scene() {
  kube::IgnoreError(cluster_.Run(tasks_.Stop(cluster_.clock(), 5s)), "the flow ends");
  if (!keep_namespace_)
    kube::IgnoreError(cluster_.Run(kube::DeleteObject(cluster_.client(), kNamespaces, {"", ns_})),
                      "the flow may have deleted it");
}

Result<std::unique_ptr<Scene>> Scene::Make(Cluster& cluster, const std::string& name, Json labels) {
  labels[kSceneLabel] = "true";
  return MakeNamed(cluster, {{"generateName", name + "-"}, {"labels", std::move(labels)}});
}

Result<std::unique_ptr<Scene>> Scene::Open(Cluster& cluster, const std::string& ns) {
  return MakeNamed(cluster, {{"name", ns}, {"labels", {{kSceneLabel, "true"}}}});
}

Result<std::unique_ptr<Scene>> Scene::MakeNamed(Cluster& cluster, Json metadata) {
  Json ns = {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", std::move(metadata)}};
  auto created =
      cluster.Run(kube::CreateObject(cluster.client(), kNamespaces, Unstructured(std::move(ns))));
  if (!created) return created.error().Prefix("create the namespace");

  std::unique_ptr<Scene> scene(new Scene(cluster, created->metadata().name()));
  scene->tasks_.Spawn("pod-watcher", scene->pods_.Run());
  auto deadline = cluster.clock().Now() + cluster.timeout();
  // Pods need their namespace's default service account.
  while (!scene->pods_.synced() || !scene->Get(kServiceAccounts, "default")) {
    if (cluster.clock().Now() > deadline)
      return Error::DeadlineExceeded("namespace " + scene->ns_ + " is not usable");
    cluster.Pause(20ms);
  }
  return scene;
}

ObjectKey Scene::KeyIn(const Resource& resource, const std::string& name) const {
  return {resource.namespaced ? ns_ : "", name};
}

Result<Json> Scene::Create(const Resource& resource, Json object) {
  if (resource.namespaced && !object["metadata"].contains("namespace"))
    object["metadata"]["namespace"] = ns_;
  auto created = cluster_.Run(
      kube::CreateObject(cluster_.client(), resource, Unstructured(std::move(object))));
  if (!created) return created.error();
  return created->body();
}

Result<Json> Scene::CreateInADryRun(const Resource& resource, const Json& object) {
  std::string ns = kube::StringAt(object, "metadata.namespace");
  if (ns.empty() && resource.namespaced) ns = ns_;
  kube::ApiRequest request{.method = kube::Method::kPost,
                           .target = resource.Path(ns) + "?dryRun=All",
                           .content_type = std::string(kube::kJson),
                           .body = kube::DumpJson(object)};
  auto answer = cluster_.Run(cluster_.client().Call(std::move(request)));
  if (!answer) return answer.error();
  return kube::ParseJson(answer->body);
}

Result<Json> Scene::Get(const Resource& resource, const std::string& name) {
  auto found = cluster_.Run(kube::GetObject(cluster_.client(), resource, KeyIn(resource, name)));
  if (!found) return found.error();
  return found->body();
}

Result<std::vector<Json>> Scene::List(const Resource& resource, const std::string& label_selector) {
  kube::ListOptions options{.ns = resource.namespaced ? ns_ : "", .label_selector = label_selector};
  auto list = cluster_.Run(kube::ListObjects(cluster_.client(), resource, options));
  if (!list) return list.error();
  std::vector<Json> objects;
  for (const Unstructured& object : list->items) objects.push_back(object.body());
  return objects;
}

Result<Json> Scene::Patch(const Resource& resource, const std::string& name, Json merge_patch) {
  auto patched = cluster_.Run(kube::PatchObject(cluster_.client(), resource, KeyIn(resource, name),
                                                kube::kMergePatch, std::move(merge_patch)));
  if (!patched) return patched.error();
  return patched->body();
}

Result<> Scene::Delete(const Resource& resource, const std::string& name) {
  return cluster_.Run(kube::DeleteObject(cluster_.client(), resource, KeyIn(resource, name)));
}

std::string Scene::Describe(const std::string& pod) {
  std::ostringstream out;
  out << "namespace " << ns_ << "\npods:\n";
  std::vector<const PodHistory*> histories = pods_.All();
  for (size_t i = 0; i < std::min(histories.size(), kMostPodsDescribed); ++i) {
    out << Summary(histories[i]->last()) << (histories[i]->deleted() ? " (deleted)" : "") << "\n";
  }
  if (histories.size() > kMostPodsDescribed) out << "  ... of " << histories.size() << "\n";

  const PodHistory* shown = pods_.Find(pod);
  if (shown != nullptr) {
    out << "history of " << pod << ":\n";
    for (const PodEvent& event : shown->events) out << event.type << Summary(event.pod) << "\n";
    out << kube::PrettyJson(WithoutManagedFields(shown->last())) << "\n";
  }

  out << "events:\n";
  Result<std::vector<Json>> events = List(kEvents);
  size_t count = events ? events->size() : 0;
  for (size_t i = count > kMostEventsDescribed ? count - kMostEventsDescribed : 0; i < count; ++i) {
    out << EventLine((*events)[i]) << "\n";
  }

  for (const Resource& resource : {kClusterConfigs, kConfigs, kDeployments}) {
    Result<std::vector<Json>> objects = List(resource);
    if (!objects) continue;
    for (const Json& object : *objects) {
      const Json* status = kube::Find(object, "status");
      const Json* spec = kube::Find(object, "spec");
      out << resource.kind << " " << kube::StringAt(object, "metadata.name");
      if (resource.kind != kDeployments.kind && spec != nullptr)
        out << " spec " << kube::DumpJson(*spec);
      out << " status " << (status == nullptr ? "none" : kube::DumpJson(*status)) << "\n";
    }
  }
  out << cluster_.Describe(ns_);
  return out.str();
}

}  // namespace e2e
