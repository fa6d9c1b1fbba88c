// SPDX-License-Identifier: Apache-2.0
#include "plugin/read/read_pod.h"

#include <algorithm>
#include <utility>

#include "api/names.h"
#include "image-facts/fact_index.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"

namespace plugin {
namespace {

using kube::Async;
using kube::Client;
using kube::Result;
using kube::core::Event;

void Note(NamespaceEvidence& evidence, std::string what, const kube::Error& error) {
  evidence.unread.push_back({std::move(what), error.message()});
}

Async<> ReadConfigs(Client& client, const std::string& ns, NamespaceEvidence& evidence) {
  kube::ObjectKey key{"", std::string(api::kClusterConfigName)};
  auto cluster = co_await kube::Get<api::ClusterPodPlacementConfig>(client, std::move(key));
  evidence.has_no_cluster_config = IsNotFound(cluster);
  if (cluster) {
    evidence.cluster_config = std::move(*cluster);
  } else if (!IsNotFound(cluster)) {
    Note(evidence, "the ClusterPodPlacementConfig", cluster.error());
  }
  kube::ListOptions options{.ns = ns};
  auto configs = co_await kube::List<api::PodPlacementConfig>(client, std::move(options));
  if (configs) {
    evidence.configs = std::move(configs->items);
    std::stable_sort(evidence.configs.begin(), evidence.configs.end(),
                     [](const api::PodPlacementConfig& a, const api::PodPlacementConfig& b) {
                       return a.spec.priority > b.spec.priority;
                     });
  } else if (!IsNotFound(configs)) {
    Note(evidence, "PodPlacementConfigs", configs.error());
  }
  co_return kube::Ok();
}

// None without their CRDs.
Async<> ReadPolicies(Client& client, const std::string& ns, NamespaceEvidence& evidence) {
  for (policy::Scope scope : {policy::Scope::kCluster, policy::Scope::kNamespace}) {
    const bool of_cluster = scope == policy::Scope::kCluster;
    const kube::Resource& resource =
        of_cluster ? policy::kClusterPodSchedulingPolicies : policy::kPodSchedulingPolicies;
    kube::ListOptions options{.ns = of_cluster ? "" : ns};
    auto policies = co_await kube::ListObjects(client, resource, std::move(options));
    if (!policies && !IsNotFound(policies))
      Note(evidence, std::string(resource.plural), policies.error());
    if (!policies) continue;
    for (const kube::Unstructured& object : policies->items) {
      auto policy = policy::SchedulingPolicy::FromJson(object.body(), scope);
      if (policy) evidence.policies.push_back(std::move(*policy));
    }
  }
  co_return kube::Ok();
}

Async<> ReadNodes(Client& client, NamespaceEvidence& evidence) {
  auto nodes = co_await kube::List<kube::core::Node>(client, kube::ListOptions());
  if (!nodes) {
    Note(evidence, "nodes", nodes.error());
    co_return kube::Ok();
  }
  evidence.nodes.emplace();
  for (const kube::core::Node& node : nodes->items) {
    Result<placement::NodeView> view = placement::ParseNode(node.SerializeAsString());
    if (view) evidence.nodes->push_back(std::move(*view));
  }
  co_return kube::Ok();
}

}  // namespace

Async<KnownImages> ReadKnownImages(Client& client, std::string operator_namespace) {
  KnownImages known;
  // A few objects at a time: each may have 256 KiB, and becomes an index of a tenth.
  constexpr int kObjects = 4;
  kube::ListOptions options{.ns = std::move(operator_namespace), .limit = kObjects};
  kube::ListPages pages(client, kube::ResourceOf<image_facts::FactIndex>::value, std::move(options),
                        /*protobuf=*/false);
  while (pages.more()) {
    Result<kube::RawList> page = co_await pages.Next();
    if (IsNotFound(page)) co_return known;
    if (!page) co_return page.error();
    auto objects = kube::DecodeItems<image_facts::FactIndex>(*page);
    if (!objects) co_return objects.error();
    for (image_facts::FactIndex& object : *objects) known.Add(std::move(object));
  }
  co_return known;
}

Async<std::shared_ptr<NamespaceEvidence>> ReadNamespace(Client& client, std::string ns,
                                                        std::string operator_namespace) {
  co_await kube::IgnoreCancellation();
  auto evidence = std::make_shared<NamespaceEvidence>();
  kube::ObjectKey key{"", ns};
  auto stored = co_await kube::Get<kube::core::Namespace>(client, std::move(key));
  if (stored) {
    evidence->ns = std::move(*stored);
  } else {
    Note(*evidence, "the namespace", stored.error());
  }
  Result<> read = co_await ReadConfigs(client, ns, *evidence);
  if (read) read = co_await ReadPolicies(client, ns, *evidence);
  if (read) read = co_await ReadNodes(client, *evidence);
  auto known = co_await ReadKnownImages(client, std::move(operator_namespace));
  if (known) {
    evidence->known_images = std::move(*known);
  } else {
    Note(*evidence, "what is known of images", known.error());
  }
  if (!read) co_return read.error();
  co_return evidence;
}

Async<std::vector<Event>> ReadEvents(Client& client, std::string ns, std::string uid) {
  kube::ListOptions options{.ns = std::move(ns), .field_selector = "involvedObject.uid=" + uid};
  auto events = co_await kube::List<Event>(client, std::move(options));
  if (!events) co_return events.error();
  std::stable_sort(events->items.begin(), events->items.end(), [](const Event& a, const Event& b) {
    return a.last_timestamp().seconds() < b.last_timestamp().seconds();
  });
  co_return std::move(events->items);
}

Async<PodEvidence> ReadPod(Client& client, kube::Clock& clock, kube::ObjectKey key,
                           std::string operator_namespace) {
  PodEvidence evidence;
  const std::string ns = key.ns;
  Result<kube::core::Pod> pod = co_await kube::Get<kube::core::Pod>(client, std::move(key));
  if (!pod) co_return pod.error();
  evidence.now = clock.WallNow();
  evidence.pod = std::move(*pod);
  auto around = co_await ReadNamespace(client, ns, std::move(operator_namespace));
  if (!around) co_return around.error();
  evidence.around = std::move(*around);
  std::string uid = evidence.pod.metadata().uid();
  auto events = co_await ReadEvents(client, ns, std::move(uid));
  if (events) {
    evidence.events = std::move(*events);
  } else {
    Note(*evidence.around, "events", events.error());
  }
  co_return evidence;
}

Async<ConfigEvidence> ReadConfig(Client& client, kube::ObjectKey key,
                                 std::string operator_namespace) {
  ConfigEvidence evidence{.ns = key.ns, .name = key.name};
  auto config = co_await kube::Get<api::PodPlacementConfig>(client, std::move(key));
  if (!config) co_return config.error();
  auto around = co_await ReadNamespace(client, evidence.ns, std::move(operator_namespace));
  if (!around) co_return around.error();
  evidence.around = std::move(*around);
  kube::ListOptions options{.ns = evidence.ns};
  auto pods = co_await kube::List<kube::core::Pod>(client, std::move(options));
  if (!pods) co_return pods.error();
  evidence.pods = std::move(pods->items);
  co_return evidence;
}

}  // namespace plugin
