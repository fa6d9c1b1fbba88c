// SPDX-License-Identifier: Apache-2.0
#include "plugin/status/status.h"

#include <set>
#include <utility>

#include "kube/base/join.h"
#include "plugin/pod/answer_parts.h"
#include "plugin/pod/condition_problem.h"
#include "plugin/text/age.h"
#include "plugin/text/table.h"
#include "plugin/text/titled.h"

namespace plugin {
namespace {

using kube::Json;

void AddProblems(const std::string& of, const std::vector<api::Condition>& conditions,
                 std::vector<std::string>& problems) {
  for (const api::Condition& condition : conditions) {
    std::string problem = ConditionProblem(condition);
    if (!problem.empty()) problems.push_back(of + ": " + problem);
  }
}

}  // namespace

Status StatusOf(const StatusEvidence& evidence) {
  Status status{.components = evidence.components,
                .configs = evidence.configs.size(),
                .unread = evidence.unread};
  std::set<std::string> versions;
  for (const Component& component : evidence.components) {
    if (!component.version.empty()) versions.insert(component.version);
  }
  status.versions.assign(versions.begin(), versions.end());
  if (evidence.has_no_cluster_config)
    status.problems.emplace_back("there is no ClusterPodPlacementConfig: no pod is placed");
  if (evidence.cluster_config)
    AddProblems("ClusterPodPlacementConfig", evidence.cluster_config->status.conditions,
                status.problems);
  for (const api::PodPlacementConfig& config : evidence.configs) {
    const std::string name = config.metadata().namespace_() + "/" + config.metadata().name();
    AddProblems(name, config.status.conditions, status.problems);
  }
  status.waiting = evidence.waiting.Lines();
  status.registries = evidence.waiting.registries();
  for (const auto& [name, end] : evidence.certificates)
    status.certificates[name] = std::chrono::floor<std::chrono::days>(end - evidence.now);
  return status;
}

std::string Say(const Status& status, Style style) {
  std::string text;
  if (!status.components.empty()) {
    Table table({"NAMESPACE", "COMPONENT", "READY", "VERSION"});
    for (const Component& component : status.components)
      table.Add({component.ns, component.name,
                 std::to_string(component.ready) + "/" + std::to_string(component.replicas),
                 component.version});
    text += table.ToText() + "\n";
  }
  text += Titled("configs", std::to_string(status.configs) + " PodPlacementConfigs", style);
  if (status.versions.size() > 1)
    text += Titled("versions", "not all are the same: " + kube::Join(status.versions), style);
  for (const auto& [name, left] : status.certificates)
    text += Titled("trusts",
                   name + ": its authority ends in " + std::to_string(left.count()) + " d", style);
  for (const auto& [registry, pods] : status.registries)
    text += Titled("registry", registry + ": " + std::to_string(pods) + " pods wait for it", style);
  text += Say(status.unread, style);
  for (const std::string& problem : status.problems) text += Titled("problem", problem, style);
  if (status.problems.empty()) text += Titled("problem", "none that could be seen", style);
  if (status.waiting.empty()) return text + Titled("waiting", "no pod waits", style);
  Table table({"WAITING", "PODS", "OLDEST", "FOR EXAMPLE"});
  for (const WaitingLine& line : status.waiting)
    table.Add({line.cause, std::to_string(line.pods), DescribeAge(line.oldest), line.example});
  return text + "\n" + table.ToText();
}

Json AsJson(const Status& status) {
  Json json = {{"components", Json::array()},
               {"versions", status.versions},
               {"configs", status.configs},
               {"problems", status.problems},
               {"waiting", Json::array()},
               {"registries", Json::object()},
               {"certificateDaysLeft", Json::object()},
               {"unread", AsJson(status.unread)}};
  for (const Component& component : status.components) {
    Json one = {{"namespace", component.ns},
                {"name", component.name},
                {"version", component.version},
                {"replicas", component.replicas},
                {"ready", component.ready}};
    json["components"].push_back(std::move(one));
  }
  for (const WaitingLine& line : status.waiting) {
    Json one = {{"cause", line.cause},
                {"pods", line.pods},
                {"oldestSeconds", line.oldest.count()},
                {"example", line.example}};
    json["waiting"].push_back(std::move(one));
  }
  for (const auto& [registry, pods] : status.registries) json["registries"][registry] = pods;
  for (const auto& [name, left] : status.certificates)
    json["certificateDaysLeft"][name] = left.count();
  return json;
}

}  // namespace plugin
