// SPDX-License-Identifier: Apache-2.0
#include "plugin/pod/read_pod.h"

#include <algorithm>
#include <string>
#include <utility>

#include "api/names.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"

namespace plugin {
namespace {

using kube::Async;
using kube::Client;
using kube::Result;

void Note(PodEvidence& evidence, std::string what, const kube::Error& error) {
  evidence.unread.push_back({std::move(what), error.message()});
}

Async<> ReadEvents(Client& client, PodEvidence& evidence) {
  kube::ListOptions options{
      .ns = evidence.pod.metadata().namespace_(),
      .field_selector = "involvedObject.uid=" + evidence.pod.metadata().uid()};
  auto events = co_await kube::List<kube::core::Event>(client, std::move(options));
  if (events) {
    evidence.events = std::move(events->items);
  } else {
    Note(evidence, "events", events.error());
  }
  co_return kube::Ok();
}

Async<> ReadConfigs(Client& client, PodEvidence& evidence) {
  kube::ObjectKey key{"", std::string(api::kClusterConfigName)};
  auto cluster = co_await kube::Get<api::ClusterPodPlacementConfig>(client, std::move(key));
  evidence.has_no_cluster_config = IsNotFound(cluster);
  if (cluster) {
    evidence.cluster_config = std::move(*cluster);
  } else if (!IsNotFound(cluster)) {
    Note(evidence, "the ClusterPodPlacementConfig", cluster.error());
  }
  kube::ListOptions options{.ns = evidence.pod.metadata().namespace_()};
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

Async<> ReadNodes(Client& client, PodEvidence& evidence) {
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

Async<PodEvidence> ReadPod(Client& client, kube::Clock& clock, kube::ObjectKey key) {
  PodEvidence evidence;
  kube::ObjectKey ns{"", key.ns};
  Result<kube::core::Pod> pod = co_await kube::Get<kube::core::Pod>(client, std::move(key));
  if (!pod) co_return pod.error();
  evidence.now = clock.WallNow();
  evidence.pod = std::move(*pod);
  auto stored = co_await kube::Get<kube::core::Namespace>(client, std::move(ns));
  if (stored) {
    evidence.ns = std::move(*stored);
  } else {
    Note(evidence, "the namespace", stored.error());
  }
  // What cannot be read is noted.
  for (auto read : {ReadEvents, ReadConfigs, ReadNodes}) {
    Result<> done = co_await read(client, evidence);
    if (!done) co_return done.error();
  }
  co_return evidence;
}

}  // namespace plugin
