// SPDX-License-Identifier: Apache-2.0
#include "console/answers/configs.h"

#include <memory>
#include <utility>
#include <vector>

#include "api/label_selector.h"
#include "console/answers/bounded_lines.h"
#include "plugin/pod/answer_parts.h"
#include "plugin/pod/condition_problem.h"
#include "plugin/read/read_configurations.h"
#include "plugin/read/read_namespace.h"
#include "plugin/read/read_subjects.h"
#include "plugin/simulate/simulation_text.h"
#include "plugin/simulate/subjects.h"

namespace console {
namespace {

using kube::Async;
using kube::Error;
using kube::Json;
using kube::Result;

// The budget of the specs is 2 MiB (api/pod_placement_config.h), of which each is shown in part.
constexpr size_t kMaxBytes = 2 * 1024 * 1024;

Json LineOf(const api::PodPlacementConfig& config) {
  Json line = {{"namespace", config.metadata().namespace_()},
               {"name", config.metadata().name()},
               {"priority", config.spec.priority},
               {"selector", "all pods"},
               {"preferences", Json::array()},
               {"gatedBy", config.status.gated_by},
               {"problems", Json::array()}};
  if (config.spec.label_selector) {
    std::string text = api::LabelSelectorToText(*config.spec.label_selector);
    if (!text.empty()) line["selector"] = std::move(text);
  }
  for (const api::Platform& platform : config.Preferences())
    line["preferences"].push_back(
        {{"architecture", platform.architecture}, {"weight", platform.weight}});
  if (!config.problems.empty()) line["problems"].push_back(api::Describe(config.problems));
  for (const api::Condition& condition : config.status.conditions) {
    std::string problem = plugin::ConditionProblem(condition);
    if (!problem.empty()) line["problems"].push_back(std::move(problem));
  }
  return line;
}

}  // namespace

Async<std::string> AnswerConfigs(const Question& question) {
  Result<std::string> ns = question.query.Namespace();
  if (!ns) co_return ns.error();
  BoundedLines configs(BudgetFor(kMaxBytes, *ns));
  std::vector<plugin::Unread> unread;
  auto read = co_await plugin::ReadConfigurations(question.client, std::move(*ns), unread);
  if (!read) co_return read.error();
  for (const api::PodPlacementConfig& config : read->of_namespace)
    configs.Add(config.metadata().namespace_(), LineOf(config));
  const Json rest = {{"leftOut", configs.left_out()}, {"unread", plugin::AsJson(unread)}};
  co_return WithMember(kube::DumpJson(rest), "configs", configs.Text());
}

Async<std::string> AnswerSimulate(const Question& question) {
  Result<std::string> ns = question.query.RequiredName("namespace");
  if (!ns) co_return ns.error();
  Result<plugin::Manifests> manifests = plugin::ReadManifests(question.body, *ns);
  if (!manifests) co_return manifests.error();
  if (manifests->configs.size() != 1 || !manifests->subjects.empty())
    co_return Error::Invalid("the body must be one PodPlacementConfig");
  const api::PodPlacementConfig& config = manifests->configs.front();
  if (config.metadata().namespace_() != *ns)
    co_return Error::Invalid("the PodPlacementConfig is of another namespace");
  std::string of = *ns, operator_namespace = question.operator_namespace;
  auto around =
      co_await plugin::ReadNamespace(question.client, std::move(of), std::move(operator_namespace));
  if (!around) co_return around.error();
  std::vector<plugin::Unread> unread = (*around)->unread;
  auto workloads = co_await plugin::ReadSubjects(question.client, std::move(*ns), unread);
  if (!workloads) co_return workloads.error();
  Json answer = plugin::AsJson(plugin::SimulateConfig(config, **around, *workloads));
  answer["unread"] = plugin::AsJson(unread);
  co_return kube::DumpJson(answer);
}

}  // namespace console
