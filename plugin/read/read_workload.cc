// SPDX-License-Identifier: Apache-2.0
#include "plugin/read/read_workload.h"

#include <algorithm>
#include <set>
#include <utility>

#include "api/label_selector.h"
#include "kube/client/metadata_lists.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"
#include "kube/types/list_at.h"
#include "plugin/read/kinds.h"
#include "plugin/read/read_namespace.h"
#include "plugin/read/read_pod.h"

namespace plugin {
namespace {

using kube::Async;
using kube::Client;
using kube::Json;
using kube::Result;
using kube::Unstructured;
using kube::core::Event;
using kube::core::Pod;

struct Kind {
  kube::Resource resource;
  std::string_view singular;
  std::string_view abbreviation;  // as in kubectl; "" for none
};
constexpr Kind kKinds[] = {{kube::kDeployments, "deployment", "deploy"},
                           {kStatefulSets, "statefulset", "sts"},
                           {kube::kReplicaSets, "replicaset", "rs"},
                           {kube::kDaemonSets, "daemonset", "ds"},
                           {kJobs, "job", ""}};

// The events of pods that do not run are read for so many; the others have their conditions.
constexpr size_t kPodsWithEvents = 20;

int64_t WantedPods(const std::string& kind, const Json& object) {
  if (kind == "DaemonSet") return kube::IntAt(object, "status.desiredNumberScheduled");
  if (kind == "Job") return -1;
  const Json* replicas = kube::Find(object, "spec.replicas");
  return replicas == nullptr ? 1 : kube::IntAt(object, "spec.replicas");
}

bool IsOwnedBy(const kube::meta::ObjectMeta& metadata, const std::set<std::string>& owners) {
  return std::any_of(
      metadata.owner_references().begin(), metadata.owner_references().end(),
      [&](const auto& owner) { return owner.controller() && owners.contains(owner.uid()); });
}

// What creates the pods: the workload, and the ReplicaSets of a Deployment.
Async<std::set<std::string>> ReadCreators(Client& client, const std::string& kind,
                                          const Unstructured& workload, std::string selector) {
  std::set<std::string> creators{workload.metadata().uid()};
  if (kind != "Deployment") co_return creators;
  kube::ListOptions options{.ns = workload.metadata().namespace_(),
                            .label_selector = std::move(selector)};
  const std::set<std::string> owners = creators;
  kube::MetadataLists metadata(client);
  kube::ListPages pages(metadata, kube::kReplicaSets, std::move(options), /*protobuf=*/false);
  while (pages.more()) {
    Result<kube::RawList> page = co_await pages.Next();
    if (!page) co_return page.error();
    for (const std::string& item : page->items) {
      Result<Json> set = kube::ParseJson(item);
      if (!set) continue;
      const kube::meta::ObjectMeta of_set = kube::MetadataFromJson(*set);
      if (IsOwnedBy(of_set, owners)) creators.insert(of_set.uid());
    }
  }
  co_return creators;
}

bool Runs(const Pod& pod) {
  return pod.status().phase() == "Running" || pod.status().phase() == "Succeeded";
}

}  // namespace

std::optional<kube::Resource> FindWorkloadKind(const std::string& word) {
  for (const Kind& kind : kKinds) {
    if (word == kind.singular || word == kind.resource.plural ||
        (word == kind.abbreviation && !word.empty()))
      return kind.resource;
  }
  return std::nullopt;
}

Async<WorkloadEvidence> ReadWorkload(Client& client, kube::Clock& clock, kube::Resource resource,
                                     kube::ObjectKey key, std::string operator_namespace) {
  WorkloadEvidence evidence{.kind = std::string(resource.kind), .ns = key.ns, .name = key.name};
  Result<Unstructured> workload = co_await kube::GetObject(client, resource, std::move(key));
  if (!workload) co_return workload.error();
  evidence.wanted = WantedPods(evidence.kind, workload->body());
  api::FieldErrors problems;
  std::string selector = api::LabelSelectorToText(api::LabelSelectorFromJson(
      kube::ObjectAt(workload->body(), "spec.selector"), "spec.selector", problems));
  // Without one, a query would be for all pods.
  if (selector.empty()) co_return kube::Error::Invalid(evidence.kind + " has no selector of pods");
  auto around = co_await ReadNamespace(client, evidence.ns, std::move(operator_namespace));
  if (!around) co_return around.error();
  evidence.around = std::move(*around);

  std::string of_sets = selector;
  auto creators = co_await ReadCreators(client, evidence.kind, *workload, std::move(of_sets));
  if (!creators) co_return creators.error().Prefix("ReplicaSets");
  kube::ListOptions options{.ns = evidence.ns, .label_selector = std::move(selector)};
  auto pods = co_await kube::List<Pod>(client, std::move(options));
  if (!pods) co_return pods.error().Prefix("pods");
  const kube::WallTime now = clock.WallNow();
  for (Pod& pod : pods->items) {
    if (!IsOwnedBy(pod.metadata(), *creators)) continue;
    evidence.pods.push_back({.now = now, .pod = std::move(pod), .around = evidence.around});
  }

  std::optional<kube::Error> unread;
  for (const std::string& uid : *creators) {
    std::string of = uid;
    auto events = co_await ReadEvents(client, evidence.ns, std::move(of));
    if (events) {
      evidence.events.insert(evidence.events.end(), events->begin(), events->end());
    } else {
      unread = events.error();
    }
  }
  size_t read = 0;
  for (PodEvidence& pod : evidence.pods) {
    if (unread || Runs(pod.pod) || ++read > kPodsWithEvents) continue;
    std::string uid = pod.pod.metadata().uid();
    auto events = co_await ReadEvents(client, evidence.ns, std::move(uid));
    if (events) {
      pod.events = std::move(*events);
    } else {
      unread = events.error();
    }
  }
  if (unread) evidence.around->unread.push_back({"events", unread->message()});
  co_return evidence;
}

}  // namespace plugin
