// SPDX-License-Identifier: Apache-2.0
#include "e2e/monitoring/scrape_targets.h"

#include <string>
#include <vector>

#include "api/label_selector.h"
#include "e2e/framework/resources.h"
#include "kube/client/typed.h"

namespace e2e {
namespace {

using kube::Json;
using kube::Ok;
using kube::Result;
using kube::Unstructured;

// The list's label selector for `labels`, and for `expressions` with the operator In.
std::string SelectorText(const Json& selector) {
  api::FieldErrors problems;
  return api::LabelSelectorToText(api::LabelSelectorFromJson(selector, "selector", problems));
}

Result<std::vector<Unstructured>> List(Cluster& cluster, const Resource& resource, std::string ns,
                                       std::string selector) {
  kube::ListOptions options{.ns = std::move(ns), .label_selector = std::move(selector)};
  auto list = cluster.Run(kube::ListObjects(cluster.client(), resource, std::move(options)));
  if (!list) return list.error();
  return std::move(list->items);
}

// Adds the address of the port `name` of `pod`, if the pod runs.
void AddTarget(const Json& pod, const std::string& name, const std::string& job, Json& targets) {
  if (kube::StringAt(pod, "status.phase") != "Running") return;
  for (const Json& port : pod.at("spec").at("containers").at(0).value("ports", Json::array())) {
    if (kube::StringAt(port, "name") != name) continue;
    std::string address = kube::StringAt(pod, "status.podIP") + ":" +
                          std::to_string(kube::IntAt(port, "containerPort"));
    Json labels = {{"job", job},
                   {"namespace", kube::StringAt(pod, "metadata.namespace")},
                   {"pod", kube::StringAt(pod, "metadata.name")}};
    targets.push_back({{"targets", Json::array({address})}, {"labels", std::move(labels)}});
  }
}

std::string LabelOf(const Json& object, const std::string& key) {
  return object.at("metadata").at("labels").value(key, "");
}

// Adds the targets of a Service: the pods behind the port `name`.
Result<> AddService(Cluster& cluster, const Json& service, const std::string& name,
                    const std::string& job, Json& targets) {
  std::string selector = SelectorText({{"matchLabels", service.at("spec").at("selector")}});
  auto pods = List(cluster, kPods, kube::StringAt(service, "metadata.namespace"), selector);
  if (!pods) return pods.error();
  for (const Json& port : service.at("spec").at("ports")) {
    if (kube::StringAt(port, "name") != name) continue;
    for (const Unstructured& pod : *pods)
      AddTarget(pod.body(), kube::StringAt(port, "targetPort"), job, targets);
  }
  return Ok();
}

}  // namespace

const Json& EndpointOf(const Json& monitor) {
  const Json& spec = monitor.at("spec");
  return spec.at(spec.contains("endpoints") ? "endpoints" : "podMetricsEndpoints").at(0);
}

Result<Json> ScrapeTargets(Cluster& cluster, const Json& monitor) {
  const Json& spec = monitor.at("spec");
  const Json& selector = spec.at("selector");
  const bool of_services = monitor.at("kind") == "ServiceMonitor";
  const std::string port = EndpointOf(monitor).at("port");
  const std::string job_label = spec.at("jobLabel");
  std::string ns;
  if (!kube::BoolAt(spec, "namespaceSelector.any"))
    ns = kube::StringAt(monitor, "metadata.namespace");
  auto selected = List(cluster, of_services ? kServices : kPods, ns, SelectorText(selector));
  if (!selected) return selected.error();
  Json targets = Json::array();
  for (const Unstructured& object : *selected) {
    std::string job = LabelOf(object.body(), job_label);
    if (!of_services) {
      AddTarget(object.body(), port, job, targets);
      continue;
    }
    Result<> added = AddService(cluster, object.body(), port, job, targets);
    if (!added) return added.error();
  }
  return targets;
}

}  // namespace e2e
