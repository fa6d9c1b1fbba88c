// SPDX-License-Identifier: Apache-2.0
#include "e2e/monitoring/prometheus.h"

#include <filesystem>
#include <fstream>
#include <utility>

#include "e2e/framework/resources.h"
#include "e2e/monitoring/scrape_targets.h"
#include "kube/base/base64.h"
#include "kube/base/percent.h"
#include "kube/client/typed.h"
#include "operator/deploy/manifests.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using kube::Error;
using kube::Json;
using kube::Ok;
using kube::Result;

constexpr const char* kHost = "127.0.0.1";
constexpr const char* kPort = "9090";
// Instead of the minutes of the manifests.
constexpr const char* kFor = "2s";

// Replaces the file at once: Prometheus may be reading it.
void Write(const std::string& path, const std::string& text) {
  std::ofstream(path + ".new") << text;
  std::filesystem::rename(path + ".new", path);
}

bool IsMonitor(const kube::Unstructured& object) {
  const std::string kind = kube::StringAt(object.body(), "kind");
  return kind == "ServiceMonitor" || kind == "PodMonitor";
}

// The groups of a PrometheusRule as a file of rules.
Json Rules(const Json& prometheus_rule) {
  Json rules = prometheus_rule.at("spec");
  for (Json& group : rules.at("groups")) {
    for (Json& rule : group.at("rules")) rule["for"] = kFor;
  }
  return rules;
}

// The value of `key` in the Secret `name` of the operator's namespace.
Result<std::string> SecretValue(Cluster& cluster, const std::string& name, const std::string& key) {
  kube::ObjectKey object{cluster.operator_namespace(), name};
  auto secret = cluster.Run(kube::GetObject(cluster.client(), kSecrets, object));
  if (!secret) return secret.error();
  std::string encoded = secret->body().value("data", Json::object()).value(key, "");
  Result<std::string> value = kube::Base64Decode(encoded);
  if (!value || value->empty()) return Error::NotFound("no " + key + " in Secret " + name);
  return value;
}

}  // namespace

bool Prometheus::Installed() {
  auto version = RunToEnd({.path = "prometheus", .args = {"--version"}});
  return version && version->status == 0;
}

Result<std::unique_ptr<Prometheus>> Prometheus::Start(Cluster& cluster, std::string folder,
                                                      const std::string& token) {
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  auto objects = operator_::LoadManifests(
      {.ns = cluster.operator_namespace(), .images = {}, .components = {"monitoring"}});
  if (!objects) return objects.error();
  std::unique_ptr<Prometheus> server(new Prometheus(cluster, folder));
  server->manifests_ = std::move(*objects);
  Result<> written = server->WriteConfiguration(token);
  if (!written) return written.error();
  Result<> targets = server->UpdateTargets();
  if (!targets) return targets.error();
  auto process =
      ChildProcess::Start({.path = "prometheus",
                           .args = {"--config.file=" + folder + "/prometheus.yaml",
                                    "--storage.tsdb.path=" + folder + "/data",
                                    "--web.listen-address=" + std::string(kHost) + ":" + kPort},
                           .log_file = folder + "/log"});
  if (!process) return process.error();
  server->process_ = std::move(*process);
  kube::Origin origin{.scheme = "http", .host = kHost, .port = kPort};
  server->api_ = kube::HttpPool::New(cluster.io().get_executor(), cluster.clock(), origin, {});
  return server;
}

Prometheus::~Prometheus() {
  process_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

Result<> Prometheus::WriteConfiguration(const std::string& token) {
  Write(folder_ + "/token", token);
  Json config = {{"global", {{"scrape_interval", "2s"}, {"evaluation_interval", "1s"}}},
                 {"rule_files", Json::array({folder_ + "/rules.yaml"})},
                 {"scrape_configs", Json::array()}};
  for (const kube::Unstructured& object : manifests_) {
    if (object.body().at("kind") == "PrometheusRule")
      Write(folder_ + "/rules.yaml", kube::DumpJson(Rules(object.body())));
    if (!IsMonitor(object)) continue;
    Result<Json> scrape = ScrapeConfig(object.body());
    if (!scrape) return scrape.error();
    config["scrape_configs"].push_back(std::move(*scrape));
  }
  // JSON is YAML.
  Write(folder_ + "/prometheus.yaml", kube::PrettyJson(config));
  return Ok();
}

Result<Json> Prometheus::ScrapeConfig(const Json& monitor) {
  const std::string name = monitor.at("metadata").at("name");
  const Json& endpoint = EndpointOf(monitor);
  Json discovery = {{"files", Json::array({folder_ + "/" + name + ".json"})},
                    {"refresh_interval", "1s"}};
  Json config = {{"job_name", name},
                 {"scheme", endpoint.value("scheme", "http")},
                 {"file_sd_configs", Json::array({std::move(discovery)})}};
  if (endpoint.contains("bearerTokenFile"))
    config["authorization"] = {{"type", "Bearer"}, {"credentials_file", folder_ + "/token"}};
  if (!endpoint.contains("tlsConfig")) return config;
  const Json& tls = endpoint.at("tlsConfig");
  const Json& authority = tls.at("ca").at("secret");
  Result<std::string> pem = SecretValue(cluster_, authority.at("name"), authority.at("key"));
  if (!pem) return pem.error();
  std::string file = folder_ + "/" + name + ".pem";
  Write(file, *pem);
  config["tls_config"] = {{"server_name", tls.at("serverName")}, {"ca_file", file}};
  return config;
}

Result<> Prometheus::UpdateTargets() {
  for (const kube::Unstructured& object : manifests_) {
    if (!IsMonitor(object)) continue;
    Result<Json> targets = ScrapeTargets(cluster_, object.body());
    if (!targets) return targets.error();
    Write(folder_ + "/" + object.metadata().name() + ".json", kube::DumpJson(*targets));
  }
  return Ok();
}

Result<Json> Prometheus::Get(const std::string& path) {
  if (process_->ExitStatus()) return Error::Internal("Prometheus ended: " + LogTail());
  kube::HttpRequest request{.method = "GET", .target = "/api/v1/" + path, .timeout = 5s};
  auto answer = cluster_.Run(api_->Call(std::move(request)));
  if (!answer) return answer.error();
  if (answer->status != 200) return Error::Unavailable(path + ": " + answer->body);
  Result<Json> json = kube::ParseJson(answer->body);
  if (!json) return json.error();
  return json->value("data", Json());
}

Result<Json> Prometheus::Query(const std::string& expression) {
  Result<Json> data = Get("query?query=" + kube::PercentEncode(expression));
  if (!data) return data.error();
  return data->at("result");
}

}  // namespace e2e
