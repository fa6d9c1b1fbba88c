// SPDX-License-Identifier: Apache-2.0
#include "plugin/status/read_status.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "api/names.h"
#include "kube/base/base64.h"
#include "kube/client/typed.h"
#include "kube/crypto/certificates.h"
#include "kube/types/kinds.h"
#include "kube/types/list_at.h"
#include "placement/gate.h"
#include "placement/pod_metadata.h"
#include "plugin/pod/cause.h"
#include "plugin/pod/surroundings.h"
#include "plugin/read/read_configurations.h"

namespace plugin {
namespace {

using kube::Async;
using kube::Client;
using kube::Json;
using kube::Result;

constexpr char kOfOperator[] = "app.kubernetes.io/managed-by=multiarch-tuning-operator";

void Note(StatusEvidence& evidence, std::string what, const kube::Error& error) {
  evidence.unread.push_back({std::move(what), error.message()});
}

Async<> ReadComponents(Client& client, const std::string& ns, StatusEvidence& evidence) {
  kube::ListOptions options{.ns = ns, .label_selector = kOfOperator};
  auto deployments = co_await kube::ListObjects(client, kube::kDeployments, std::move(options));
  if (!deployments) {
    Note(evidence, "Deployments", deployments.error());
    co_return kube::Ok();
  }
  for (const kube::Unstructured& deployment : deployments->items) {
    const Json& body = deployment.body();
    const auto& labels = deployment.metadata().labels();
    auto version = labels.find("app.kubernetes.io/version");
    evidence.components.push_back({.ns = deployment.metadata().namespace_(),
                                   .name = deployment.metadata().name(),
                                   .version = version == labels.end() ? "" : version->second,
                                   .replicas = kube::IntAt(body, "spec.replicas", 1),
                                   .ready = kube::IntAt(body, "status.readyReplicas")});
  }
  co_return kube::Ok();
}

Async<> ReadConfigs(Client& client, const std::string& ns, StatusEvidence& evidence) {
  std::string of = ns;
  auto read = co_await ReadConfigurations(client, std::move(of), evidence.unread);
  if (!read) co_return read.error();
  evidence.cluster_config = std::move(read->cluster);
  evidence.has_no_cluster_config = read->has_no_cluster;
  evidence.configs = std::move(read->of_namespace);
  co_return kube::Ok();
}

bool IsGated(const kube::core::Pod& pod, std::string_view gate) {
  return placement::HasGate(pod, gate) && placement::LabelOf(pod, gate) == api::kGated;
}

// By the labels of the webhooks and the policies: all gated pods have one. In pages: tenants choose
// how many pods wait.
Async<> ReadGated(Client& client, const std::string& ns, StatusEvidence& evidence) {
  Surroundings surroundings({.cluster_config = evidence.cluster_config,
                             .has_no_cluster_config = evidence.has_no_cluster_config,
                             .configs = evidence.configs});
  for (std::string_view label : {api::kClusterGateLabel, api::kLocalGateLabel}) {
    kube::ListOptions options{
        .ns = ns, .label_selector = std::string(label) + "=" + std::string(api::kGated)};
    kube::ListPages pages(client, kube::kPods, std::move(options), /*protobuf=*/true);
    while (pages.more()) {
      Result<kube::RawList> page = co_await pages.Next();
      if (!page) {
        Note(evidence, "pods", page.error());
        co_return kube::Ok();
      }
      for (const std::string& item : page->items) {
        auto pod = kube::DecodeBare<kube::core::Pod>(item);
        if (!pod) co_return pod.error();
        // A pod with both gates is in both lists.
        const bool is_counted = label == api::kLocalGateLabel && IsGated(*pod, api::kClusterGate);
        if (is_counted || !(placement::HasGate(*pod, api::kClusterGate) ||
                            placement::HasGate(*pod, api::kLocalGate)))
          continue;
        const std::string& of_pod = pod->metadata().namespace_();
        const PodEvidence of{.now = evidence.now, .pod = *pod, .around = surroundings.Of(of_pod)};
        evidence.waiting.Add(*pod, FindCause(of), evidence.now);
      }
    }
  }
  co_return kube::Ok();
}

Async<> ReadCertificates(Client& client, StatusEvidence& evidence) {
  kube::ListOptions options{.label_selector = kOfOperator};
  auto configurations =
      co_await kube::ListObjects(client, kube::kMutatingWebhookConfigurations, std::move(options));
  if (!configurations) {
    Note(evidence, "webhook configurations", configurations.error());
    co_return kube::Ok();
  }
  for (const kube::Unstructured& one : configurations->items) {
    for (const Json& webhook : kube::ListAt(one.body(), "webhooks")) {
      auto pem = kube::Base64Decode(kube::StringAt(webhook, "clientConfig.caBundle"));
      if (!pem) continue;
      // A bundle may still have the one that was used before.
      for (const std::string& certificate : kube::CertificatesIn(*pem)) {
        Result<kube::WallTime> end = kube::NotAfter(certificate);
        if (!end) continue;
        auto [at, is_new] = evidence.certificates.emplace(one.metadata().name(), *end);
        if (!is_new) at->second = std::max(at->second, *end);
      }
    }
  }
  co_return kube::Ok();
}

}  // namespace

Async<StatusEvidence> ReadStatus(Client& client, kube::Clock& clock, std::string ns) {
  co_await kube::IgnoreCancellation();
  StatusEvidence evidence{.now = clock.WallNow()};
  Result<> read = co_await ReadComponents(client, ns, evidence);
  if (read) read = co_await ReadConfigs(client, ns, evidence);
  if (read) read = co_await ReadGated(client, ns, evidence);
  if (read) read = co_await ReadCertificates(client, evidence);
  if (!read) co_return read.error();
  co_return evidence;
}

}  // namespace plugin
