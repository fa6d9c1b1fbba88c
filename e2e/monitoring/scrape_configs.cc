// SPDX-License-Identifier: Apache-2.0
#include "e2e/monitoring/scrape_configs.h"

#include <algorithm>

namespace e2e {
namespace {

// A label's name in Prometheus: "app.kubernetes.io/name" is "app_kubernetes_io_name".
std::string MetaName(std::string label) {
  for (char& c : label) {
    if (!isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return label;
}

Json Keep(const std::string& meta, const std::string& regex) {
  return {{"source_labels", {meta}}, {"regex", regex}, {"action", "keep"}};
}

Json Copy(const std::string& meta, const std::string& label) {
  return {{"source_labels", {meta}}, {"target_label", label}};
}

// Rules that keep what the LabelSelector `selector` selects; `prefix` is that of the labels of the
// discovered object.
void AddSelector(const Json& selector, const std::string& prefix, Json& rules) {
  const Json labels = selector.value("matchLabels", Json::object());
  for (const auto& [label, value] : labels.items())
    rules.push_back(Keep(prefix + MetaName(label), value));
  for (const Json& expression : selector.value("matchExpressions", Json::array())) {
    std::string any;
    for (const Json& value : expression.at("values"))
      any += (any.empty() ? "" : "|") + value.get<std::string>();
    rules.push_back(Keep(prefix + MetaName(expression.at("key")), any));
  }
}

}  // namespace

Json ScrapeConfigs(const Json& monitor, const ScrapeFiles& files) {
  bool pods = monitor.at("kind") == "PodMonitor";
  const Json& spec = monitor.at("spec");
  const std::string labels =
      pods ? "__meta_kubernetes_pod_label_" : "__meta_kubernetes_service_label_";
  Json discovery = {{"role", pods ? "pod" : "endpoints"}, {"kubeconfig_file", files.kubeconfig}};
  if (!kube::BoolAt(spec, "namespaceSelector.any"))
    discovery["namespaces"]["names"] = Json::array({monitor.at("metadata").at("namespace")});

  Json configs = Json::array();
  for (const Json& endpoint : spec.at(pods ? "podMetricsEndpoints" : "endpoints")) {
    Json rules = Json::array();
    AddSelector(spec.at("selector"), labels, rules);
    rules.push_back(Keep(
        pods ? "__meta_kubernetes_pod_container_port_name" : "__meta_kubernetes_endpoint_port_name",
        endpoint.at("port")));
    rules.push_back(Copy("__meta_kubernetes_namespace", "namespace"));
    rules.push_back(Copy("__meta_kubernetes_pod_name", "pod"));
    rules.push_back(Copy(labels + MetaName(spec.at("jobLabel")), "job"));

    Json config = {{"job_name", monitor.at("kind").get<std::string>() + "/" +
                                    monitor.at("metadata").at("name").get<std::string>() + "/" +
                                    std::to_string(configs.size())},
                   {"scheme", endpoint.value("scheme", "http")},
                   {"kubernetes_sd_configs", Json::array({discovery})},
                   {"relabel_configs", rules}};
    if (endpoint.contains("bearerTokenFile"))
      config["authorization"] = {{"type", "Bearer"}, {"credentials_file", files.token}};
    if (endpoint.contains("tlsConfig")) {
      const Json& tls = endpoint.at("tlsConfig");
      const Json& secret = tls.at("ca").at("secret");
      config["tls_config"] = {
          {"server_name", tls.at("serverName")},
          {"ca_file", files.authorities + "/" + secret.at("name").get<std::string>() + "." +
                          secret.at("key").get<std::string>()}};
    }
    configs.push_back(std::move(config));
  }
  return configs;
}

}  // namespace e2e
