// SPDX-License-Identifier: Apache-2.0
#include "plugin/read/read_namespace.h"

#include <algorithm>
#include <utility>

#include "exec-format/findings/image_finding.h"
#include "image-facts/fact_index.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"
#include "plugin/read/read_configurations.h"

namespace plugin {
namespace {

using kube::Async;
using kube::Client;
using kube::Result;

void Note(NamespaceEvidence& evidence, std::string what, const kube::Error& error) {
  evidence.unread.push_back({std::move(what), error.message()});
}

// By descending priority.
Async<> ReadConfigs(Client& client, const std::string& ns, NamespaceEvidence& evidence) {
  std::string of = ns;
  auto read = co_await ReadConfigurations(client, std::move(of), evidence.unread);
  if (!read) co_return read.error();
  evidence.cluster_config = std::move(read->cluster);
  evidence.has_no_cluster_config = read->has_no_cluster;
  evidence.configs = std::move(read->of_namespace);
  std::stable_sort(evidence.configs.begin(), evidence.configs.end(),
                   [](const api::PodPlacementConfig& a, const api::PodPlacementConfig& b) {
                     return a.spec.priority > b.spec.priority;
                   });
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
  std::vector<placement::NodeView> nodes;
  kube::ListPages pages(client, kube::ResourceOf<kube::core::Node>::value, {}, /*protobuf=*/true);
  while (pages.more()) {
    Result<kube::RawList> page = co_await pages.Next();
    if (!page) {
      Note(evidence, "nodes", page.error());
      co_return kube::Ok();
    }
    for (const std::string& item : page->items) {
      Result<placement::NodeView> view = placement::ParseNode(item);
      if (view) nodes.push_back(std::move(*view));
    }
  }
  evidence.nodes = std::move(nodes);
  co_return kube::Ok();
}

}  // namespace

Async<KnownImages> ReadKnownImages(Client& client, std::string operator_namespace) {
  KnownImages known;
  // A few objects at a time: each may have 256 KiB, and becomes an index of a tenth.
  constexpr int kObjects = 4;
  kube::ListOptions findings_options{.ns = operator_namespace};
  kube::ListOptions options{.ns = std::move(operator_namespace), .limit = kObjects};
  kube::ListPages pages(client, kube::ResourceOf<image_facts::FactIndex>::value, std::move(options),
                        /*protobuf=*/false);
  while (pages.more()) {
    Result<kube::RawList> page = co_await pages.Next();
    if (IsNotFound(page)) break;
    if (!page) co_return page.error();
    auto objects = kube::DecodeItems<image_facts::FactIndex>(*page);
    if (!objects) co_return objects.error();
    for (image_facts::FactIndex& object : *objects) known.Add(std::move(object));
  }
  auto findings =
      co_await kube::List<exec_format::ImageFinding>(client, std::move(findings_options));
  if (IsNotFound(findings)) co_return known;
  if (!findings) co_return findings.error();
  for (exec_format::ImageFinding& finding : findings->items) known.Add(std::move(finding));
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

}  // namespace plugin
