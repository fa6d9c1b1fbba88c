// SPDX-License-Identifier: Apache-2.0
#include "fleet/e2e/hub_cluster.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "e2e/cluster_harness/await_api_server.h"
#include "e2e/cluster_harness/own_network.h"
#include "kube/client/kubeconfig.h"
#include "kube/client/new_client.h"
#include "kube/client/read_file.h"
#include "kube/client/typed.h"
#include "kube/codec/yaml.h"
#include "kube/types/kinds.h"

namespace e2e {

using namespace std::chrono_literals;
using kube::Error;
using kube::Json;
using kube::ObjectKey;
using kube::Ok;
using kube::Result;
using kube::Unstructured;

namespace {

constexpr char kCrds[] = "fleet/api/crds";
constexpr auto kStopTimeout = 30s;
// Longer than any test or benchmark.
constexpr int kTokenSeconds = 24 * 3600;

// The CustomResourceDefinitions of a hub.
Result<std::vector<Json>> ReadCrds() {
  std::vector<Json> crds;
  std::error_code ec;
  for (const auto& file : std::filesystem::directory_iterator(kCrds, ec)) {
    if (file.path().filename() == "kustomization.yaml") continue;
    Result<std::string> text = kube::ReadFile(file.path().string());
    if (!text) return text.error();
    Result<std::vector<Json>> documents = kube::ParseYamlDocuments(*text);
    if (!documents) return documents.error().Prefix(file.path().string());
    for (Json& document : *documents) crds.push_back(std::move(document));
  }
  if (crds.empty()) return Error::NotFound(std::string("there are no CRDs in ") + kCrds);
  return crds;
}

}  // namespace

Result<std::unique_ptr<HubCluster>> HubCluster::Start(ControlPlaneOptions options) {
  // Once: by the next time, the client has made threads.
  static const Result<> network = EnterOwnNetwork();
  if (!network) return network.error();
  std::string folder = options.folder;
  auto plane = ControlPlane::Start(std::move(options));
  if (!plane) return plane.error();
  auto config = kube::LoadKubeconfig((*plane)->admin_kubeconfig());
  if (!config) return config.error();
  auto io = std::make_unique<boost::asio::io_context>(1);
  auto client = kube::NewClient(io->get_executor(), kube::RealClock(), *config,
                                {.user_agent = "hub-cluster"});
  if (!client) return client.error();
  Options cluster_options{.tier = Tier::kIntegration,
                          .registry = "",
                          .operator_namespace = kNamespace,
                          .connection = *config,
                          // Enough for a busy machine; conditions usually hold within a second.
                          .timeout = 120s};
  std::unique_ptr<HubCluster> cluster(new HubCluster(std::move(io), std::move(*client),
                                                     std::move(cluster_options), std::move(*plane),
                                                     std::move(folder)));
  Result<> prepared = cluster->Prepare();
  if (!prepared) return prepared.error();
  return cluster;
}

Result<> HubCluster::Prepare() {
  Result<> ready = AwaitApiServer(*this, *plane_);
  if (!ready) return ready;
  Result<std::vector<Json>> crds = ReadCrds();
  if (!crds) return crds.error();
  for (const Json& crd : *crds) {
    auto created =
        Run(kube::CreateObject(client(), kube::kCustomResourceDefinitions, Unstructured(crd)));
    if (!created) return created.error().Prefix("create a CRD");
  }
  for (const Json& crd : *crds) {
    Result<> served = AwaitServed(crd);
    if (!served) return served;
  }
  Json ns = {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", kNamespace}}}};
  auto created = Run(kube::CreateObject(client(), kube::kNamespaces, Unstructured(std::move(ns))));
  if (!created) return created.error().Prefix("create the hub's namespace");
  Result<std::string> kubeconfig = NewAdmin(kHubAccount);
  if (!kubeconfig) return kubeconfig.error();
  hub_kubeconfig_ = std::move(*kubeconfig);
  return Ok();
}

Result<> HubCluster::AwaitServed(const Json& crd) {
  const Json* versions = kube::Find(crd, "spec.versions");
  std::string group = kube::StringAt(crd, "spec.group");
  std::string plural = kube::StringAt(crd, "spec.names.plural");
  for (auto deadline = clock().Now() + timeout();; Pause(50ms)) {
    Result<> served = versions == nullptr ? Result<>(Error::Invalid("no versions")) : Ok();
    for (size_t i = 0; served && i < versions->size(); ++i) {
      std::string version = kube::StringAt((*versions)[i], "name");
      kube::Resource resource{group, version, plural, "", false};
      kube::ListOptions one{.limit = 1};
      auto listed = Run(kube::ListObjects(client(), resource, std::move(one)));
      if (!listed) served = listed.error();
    }
    if (served) return served;
    if (clock().Now() > deadline) return served.error().Prefix(plural + " is not served");
  }
}

Result<std::string> HubCluster::NewAdmin(const std::string& account) {
  Json metadata = {{"name", account}, {"namespace", kNamespace}};
  Json object = {{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", metadata}};
  auto created = Run(kube::CreateObject(client(), kube::kServiceAccounts, Unstructured(object)));
  if (!created) return created.error().Prefix("ServiceAccount " + account);

  Json binding = {{"apiVersion", "rbac.authorization.k8s.io/v1"}, {"kind", "ClusterRoleBinding"}};
  binding["metadata"]["name"] = account;
  binding["roleRef"] = {{"apiGroup", "rbac.authorization.k8s.io"},
                        {"kind", "ClusterRole"},
                        {"name", "cluster-admin"}};
  binding["subjects"] =
      Json::array({{{"kind", "ServiceAccount"}, {"name", account}, {"namespace", kNamespace}}});
  created = Run(kube::CreateObject(client(), kube::kClusterRoleBindings, Unstructured(binding)));
  if (!created) return created.error().Prefix("ClusterRoleBinding " + account);

  Json token_request = {{"apiVersion", "authentication.k8s.io/v1"},
                        {"kind", "TokenRequest"},
                        {"spec", {{"expirationSeconds", kTokenSeconds}}}};
  kube::ApiRequest request{.method = kube::Method::kPost,
                           .target = kube::kServiceAccounts.Path(kNamespace, account, "token"),
                           .content_type = std::string(kube::kJson),
                           .body = kube::DumpJson(token_request)};
  auto answer = Run(client().Call(std::move(request)));
  if (!answer) return answer.error().Prefix("token of " + account);
  Result<Json> token = kube::ParseJson(answer->body);
  if (!token) return token.error();
  std::string token_file = folder_ + "/" + account + ".token";
  std::string kubeconfig = folder_ + "/" + account + ".kubeconfig";
  Result<> written = WriteFile(token_file, kube::StringAt(*token, "status.token"));
  if (written) written = plane_->WriteKubeconfig(kubeconfig, token_file);
  if (!written) return written.error();
  return kubeconfig;
}

Result<> HubCluster::StartHub(std::vector<std::string> args) {
  args.insert(args.begin(),
              {"--kubeconfig=" + hub_kubeconfig_, std::string("--namespace=") + kNamespace,
               "--cel-evaluator=fleet/cel/evaluator/evaluator"});
  auto hub = ChildProcess::Start(
      {.path = "fleet/hub/hub", .args = std::move(args), .log_file = folder_ + "/hub.log"});
  if (!hub) return hub.error();
  hub_ = std::move(*hub);
  return Ok();
}

Result<> HubCluster::StopHub() {
  if (hub_ == nullptr) return Ok();
  hub_->Signal(SIGTERM);
  for (auto deadline = clock().Now() + kStopTimeout; !hub_->ExitStatus(); Pause(20ms)) {
    if (clock().Now() > deadline)
      return Error::DeadlineExceeded("the hub does not end after SIGTERM: " + HubLog());
  }
  hub_.reset();
  return Ok();
}

Result<> HubCluster::HubRuns() {
  if (hub_ == nullptr) return Error::Unavailable("the hub was not started");
  std::optional<int> status = hub_->ExitStatus();
  if (!status) return Ok();
  return Error::Unavailable("the hub ended with status " + std::to_string(*status) + ": " +
                            HubLog());
}

Result<int64_t> HubCluster::HubPasses() {
  constexpr std::string_view kSeries =
      "controller_runtime_reconcile_total{controller=\"placement\"";
  Result<Finished> scraped = RunToEnd({.path = "curl",
                                       .args = {"--silent", "--show-error", "--fail", "--noproxy",
                                                "*", "http://127.0.0.1:8080/metrics"}});
  if (!scraped) return scraped.error();
  if (scraped->status != 0) return Error::Unavailable("the hub's metrics: " + scraped->output);
  std::istringstream lines(scraped->output);
  int64_t passes = 0;
  bool found = false;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kSeries)) continue;
    found = true;
    if (line.find("result=\"error\"") == std::string::npos)
      passes += std::strtoll(line.c_str() + line.rfind(' '), nullptr, 10);
  }
  if (!found) return Error::Unavailable("the hub's metrics lack " + std::string(kSeries));
  return passes;
}

Result<> HubCluster::Crash(ObjectKey pod) {
  return Error::NotFound("no pod " + pod.ToString() + " runs on a hub");
}

std::string HubCluster::Describe(const std::string&) { return HubLog(); }

}  // namespace e2e
