// SPDX-License-Identifier: Apache-2.0
#include "e2e/monitoring/prometheus.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "e2e/framework/resources.h"
#include "e2e/monitoring/scrape_configs.h"
#include "kube/base/base64.h"
#include "kube/client/typed.h"
#include "kube/codec/yaml.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using kube::Error;
using kube::Ok;
using kube::Result;

constexpr const char* kManifests = "operator/manifests/components/monitoring/";
constexpr const char* kPort = "19090";

void Write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

// A kubeconfig for the connection of `cluster`.
Json KubeconfigOf(Cluster& cluster) {
  const kube::ClientConfig& connection = cluster.connection();
  Json to = {{"server", connection.server}};
  Json user = Json::object();
  auto add = [](Json& into, const char* key, const std::string& file, const std::string& pem) {
    if (!file.empty()) {
      into[key] = file;
    } else if (!pem.empty()) {
      into[std::string(key) + "-data"] = kube::Base64Encode(pem);
    }
  };
  add(to, "certificate-authority", connection.ca_file, connection.tls.ca_pem);
  add(user, "client-certificate", connection.cert_file, connection.tls.cert_pem);
  add(user, "client-key", connection.key_file, connection.tls.key_pem);
  if (!connection.token.empty()) user["token"] = connection.token;
  if (!connection.token_file.empty()) user["tokenFile"] = connection.token_file;
  return {{"apiVersion", "v1"},
          {"kind", "Config"},
          {"current-context", "it"},
          {"clusters", Json::array({{{"name", "it"}, {"cluster", to}}})},
          {"users", Json::array({{{"name", "it"}, {"user", user}}})},
          {"contexts",
           Json::array({{{"name", "it"}, {"context", {{"cluster", "it"}, {"user", "it"}}}}})}};
}

// Writes the key of a Secret to the file SECRET.KEY in `folder`, for each tlsConfig of `monitor`.
Result<> WriteAuthorities(Cluster& cluster, const Json& monitor, const std::string& folder) {
  for (const Json& endpoint : monitor.at("spec").value("endpoints", Json::array())) {
    const Json* source = kube::Find(endpoint, "tlsConfig.ca.secret");
    if (source == nullptr) continue;
    std::string name = source->at("name");
    std::string key = source->at("key");
    kube::ObjectKey object{cluster.operator_namespace(), name};
    auto secret = cluster.Run(kube::GetObject(cluster.client(), kSecrets, object));
    if (!secret) return secret.error();
    std::string encoded = secret->body().value("data", Json::object()).value(key, "");
    Result<std::string> pem = kube::Base64Decode(encoded);
    if (!pem || pem->empty()) return Error::NotFound("no " + key + " in Secret " + name);
    Write(folder + "/" + name + "." + key, *pem);
  }
  return Ok();
}

}  // namespace

Result<std::vector<Json>> MonitoringManifests(Cluster& cluster) {
  std::vector<Json> objects;
  for (const char* file : {"service_monitors.yaml", "pod_monitor.yaml", "prometheus_rule.yaml"}) {
    std::ifstream in(std::string(kManifests) + file);
    std::stringstream text;
    text << in.rdbuf();
    auto documents = kube::ParseYamlDocuments(text.str());
    if (!documents) return documents.error().Prefix(file);
    if (documents->empty()) return Error::NotFound(std::string(kManifests) + file);
    for (Json& document : *documents) {
      document["metadata"]["namespace"] = cluster.operator_namespace();
      objects.push_back(std::move(document));
    }
  }
  return objects;
}

bool Prometheus::Installed() {
  auto version = RunToEnd({.path = "prometheus", .args = {"--version"}});
  return version && version->status == 0;
}

Result<std::unique_ptr<Prometheus>> Prometheus::Start(Cluster& cluster, std::string folder,
                                                      const std::string& token) {
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  ScrapeFiles files{
      .kubeconfig = folder + "/kubeconfig", .token = folder + "/token", .authorities = folder};
  Write(files.kubeconfig, KubeconfigOf(cluster).dump());
  Write(files.token, token);

  // JSON is YAML.
  auto objects = MonitoringManifests(cluster);
  if (!objects) return objects.error();
  Json config = {{"global", {{"scrape_interval", "1s"}, {"evaluation_interval", "1s"}}},
                 {"rule_files", {folder + "/rules.yaml"}},
                 {"scrape_configs", Json::array()}};
  for (Json& object : *objects) {
    if (object.at("kind") == "PrometheusRule") {
      Json rules = object.at("spec");
      for (Json& group : rules.at("groups")) {
        for (Json& rule : group.at("rules")) rule["for"] = "3s";
      }
      Write(folder + "/rules.yaml", rules.dump());
      continue;
    }
    Result<> written = WriteAuthorities(cluster, object, folder);
    if (!written) return written.error();
    for (Json& scrape : ScrapeConfigs(object, files))
      config["scrape_configs"].push_back(std::move(scrape));
  }
  Write(folder + "/prometheus.yaml", config.dump(1));

  std::unique_ptr<Prometheus> server(new Prometheus(cluster, folder));
  auto process = ChildProcess::Start(
      {.path = "prometheus",
       .args = {"--config.file=" + folder + "/prometheus.yaml",
                "--storage.tsdb.path=" + folder + "/data", "--storage.tsdb.retention.time=1h",
                std::string("--web.listen-address=127.0.0.1:") + kPort},
       .env = {{"NO_PROXY", "*"}, {"GOMAXPROCS", "1"}},
       .log_file = folder + "/log"});
  if (!process) return process.error();
  server->process_ = std::move(*process);
  kube::Origin origin{.scheme = "http", .host = "127.0.0.1", .port = kPort};
  server->api_ = kube::HttpPool::New(cluster.io().get_executor(), cluster.clock(), origin, {});
  return server;
}

Result<Json> Prometheus::Query(std::string target) {
  if (process_->ExitStatus()) return Error::Internal("Prometheus ended: " + LogTail());
  kube::HttpRequest request{.method = "GET", .target = std::move(target), .timeout = 5s};
  auto answer = cluster_.Run(api_->Call(std::move(request)));
  if (!answer) return answer.error();
  if (answer->status != 200) return Error::Unavailable(answer->body);
  Result<Json> json = kube::ParseJson(answer->body);
  if (!json) return json.error();
  return json->value("data", Json());
}

Result<Json> Prometheus::Targets() {
  Result<Json> data = Query("/api/v1/targets?state=active");
  if (!data) return data.error();
  return data->value("activeTargets", Json::array());
}

Result<Json> Prometheus::FiringAlerts() {
  Result<Json> data = Query("/api/v1/alerts");
  if (!data) return data.error();
  Json firing = Json::array();
  for (Json& alert : data->at("alerts")) {
    if (alert.at("state") == "firing") firing.push_back(std::move(alert));
  }
  return firing;
}

Result<std::vector<std::string>> Prometheus::RuleErrors() {
  Result<Json> data = Query("/api/v1/rules");
  if (!data) return data.error();
  std::vector<std::string> errors;
  for (const Json& group : data->at("groups")) {
    for (const Json& rule : group.at("rules")) {
      if (rule.at("health") != "ok")
        errors.push_back(rule.at("name").get<std::string>() + ": " + rule.value("lastError", "?"));
    }
  }
  return errors;
}

Result<std::vector<std::string>> Prometheus::MetricNames() {
  Result<Json> data = Query("/api/v1/label/__name__/values");
  if (!data) return data.error();
  return data->get<std::vector<std::string>>();
}

}  // namespace e2e
