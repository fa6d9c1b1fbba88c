// SPDX-License-Identifier: Apache-2.0
#include "e2e/neighbours/stand_in_webhook.h"

#include <chrono>
#include <cstdlib>

#include "e2e/cluster_harness/control_plane.h"
#include "e2e/framework/objects.h"
#include "e2e/framework/resources.h"
#include "kube/base/base64.h"
#include "kube/crypto/certificates.h"

namespace e2e {

using namespace std::chrono_literals;
using kube::Error;
using kube::Ok;
using kube::Resource;
using kube::Result;

namespace {

constexpr char kHost[] = "127.0.0.1";

const Resource& ConfigurationsOf(bool mutating) {
  return mutating ? kMutatingWebhookConfigurations : kValidatingWebhookConfigurations;
}

std::string Folder() {
  const char* folder = std::getenv("TEST_TMPDIR");
  return folder == nullptr ? "/tmp" : folder;
}

}  // namespace

StandInWebhook::StandInWebhook(Scene& scene, Options options)
    : scene_(scene), options_(std::move(options)), tasks_(scene.cluster().io().get_executor()) {}

Result<std::unique_ptr<StandInWebhook>> StandInWebhook::Start(Scene& scene, Options options) {
  std::unique_ptr<StandInWebhook> webhook(new StandInWebhook(scene, std::move(options)));
  Result<> served = webhook->Serve();
  if (!served) return served.error();
  auto created =
      scene.Create(ConfigurationsOf(webhook->options_.mutating), webhook->Configuration());
  if (!created) return created.error();
  return webhook;
}

Result<> StandInWebhook::Serve() {
  Cluster& cluster = scene_.cluster();
  auto ca = kube::NewCertificateAuthority("stand-in", 24h, cluster.clock());
  if (!ca) return ca.error();
  auto pair = kube::NewServingCertificate(*ca, {kHost}, 24h, cluster.clock());
  if (!pair) return pair.error();
  ca_pem_ = ca->certificate_pem;
  const std::string file = Folder() + "/" + scene_.ns() + "-" + options_.name;
  for (const auto& [end, pem] :
       {std::pair(".crt", pair->certificate_pem), std::pair(".key", pair->private_key_pem)}) {
    Result<> written = WriteFile(file + end, pem);
    if (!written) return written;
  }
  auto server = kube::HttpsServer::New(cluster.io().get_executor(), cluster.clock(),
                                       {.address = std::string(kHost) + ":0",
                                        .certificate_file = file + ".crt",
                                        .key_file = file + ".key"});
  if (!server) return server.error();
  server_ = std::move(*server);
  server_->Handle("POST", "/pods", kube::ReviewHandler([this](kube::AdmissionRequest request) {
                    return Decide(std::move(request));
                  }));
  tasks_.Spawn("stand-in", server_->Run());
  return Ok();
}

StandInWebhook::~StandInWebhook() {
  Cluster& cluster = scene_.cluster();
  kube::IgnoreError(
      scene_.Delete(ConfigurationsOf(options_.mutating), options_.name + "-" + scene_.ns()),
      "the flow ends");
  if (server_ != nullptr) kube::IgnoreError(cluster.Run(server_->Drain(1s)), "the flow ends");
  kube::IgnoreError(cluster.Run(tasks_.Stop(cluster.clock(), 10s)), "the flow ends");
}

Json StandInWebhook::Configuration() const {
  Json rule = {{"apiGroups", {""}},
               {"apiVersions", {"v1"}},
               {"resources", {"pods"}},
               {"operations", options_.operations}};
  Json webhook = {
      {"name", "pods.neighbour.example.com"},
      {"admissionReviewVersions", {"v1"}},
      {"sideEffects", "None"},
      {"failurePolicy", "Fail"},
      {"rules", Json::array({std::move(rule)})},
      {"namespaceSelector", {{"matchLabels", {{"kubernetes.io/metadata.name", scene_.ns()}}}}}};
  webhook["clientConfig"] = {
      {"url", "https://" + std::string(kHost) + ":" + std::to_string(server_->port()) + "/pods"},
      {"caBundle", kube::Base64Encode(ca_pem_)}};
  if (options_.mutating) webhook["reinvocationPolicy"] = "IfNeeded";
  return {{"apiVersion", "admissionregistration.k8s.io/v1"},
          {"kind", std::string(ConfigurationsOf(options_.mutating).kind)},
          {"metadata", {{"name", options_.name + "-" + scene_.ns()}}},
          {"webhooks", Json::array({std::move(webhook)})}};
}

kube::Async<kube::AdmissionResponse> StandInWebhook::Decide(kube::AdmissionRequest request) {
  if (request.dry_run) {
    called_in_dry_run_ = true;
  } else {
    ++calls_[request.name];
  }
  co_return options_.decide(request);
}

int StandInWebhook::CallsAbout(const std::string& name) const {
  auto found = calls_.find(name);
  return found == calls_.end() ? 0 : found->second;
}

Condition StandInWebhook::InForce() {
  return {.name = "the API server calls the webhook " + options_.name,
          .holds = [this](Scene& scene) -> Result<> {
            kube::ApiRequest request{
                .method = kube::Method::kPost,
                .target = kPods.Path(scene.ns()) + "?dryRun=All",
                .content_type = std::string(kube::kJson),
                .body = kube::DumpJson(MakePod("probe").Image("none").Build())};
            kube::IgnoreError(scene.cluster().Run(scene.cluster().client().Call(request)),
                              "the webhook may refuse it");
            return called_in_dry_run_ ? Ok() : Result<>(Error::NotFound("a call"));
          }};
}

}  // namespace e2e
