// SPDX-License-Identifier: Apache-2.0
#include "operator/objects/rule_policy.h"

#include <utility>

#include "api/names.h"
#include "api/rule_question.h"
#include "kube/types/kinds.h"
#include "operator/objects/metadata.h"
#include "operator/objects/namespace_in.h"
#include "operator/rules/restricted.h"

namespace operator_ {
namespace {

using kube::Json;

Json Validation(std::string expression, std::string_view message) {
  return {{"expression", std::move(expression)}, {"message", std::string(message)}};
}

// A validation that fails is an answer. An expression that fails for the pod is no answer, and the
// API server still evaluates the next ones.
void AddValidations(const api::PodPlacementConfig& config, const LeftOutRulesOf& left_out,
                    Json& validations) {
  std::string other = "request.options.fieldManager != '" + api::QuestionOf(config) + "'";
  for (size_t i = 0; i < config.Rules().size(); ++i) {
    if (IsLeftOut(left_out, config.metadata().name(), i)) continue;
    std::string unmatched = "!(" + Restricted(config.Rules()[i].expression) + ")";
    validations.push_back(Validation(other + " || " + unmatched, api::RuleMatches(i)));
  }
  validations.push_back(Validation(other, api::kRulesEvaluated));
}

// With the API's defaults, so that what is stored equals what was applied.
Json UpdatesOfPodsIn(const std::string& ns) {
  Json rule = {{"apiGroups", Json::array({""})},
               {"apiVersions", Json::array({"v1"})},
               {"operations", Json::array({"UPDATE"})},
               {"resources", Json::array({"pods"})},
               {"scope", "Namespaced"}};
  return {{"matchPolicy", "Equivalent"},
          {"namespaceSelector", SelectNamespace(ns)},
          {"objectSelector", Json::object()},
          {"resourceRules", Json::array({std::move(rule)})}};
}

Json NewOfShard(const kube::Resource& resource, const std::string& ns,
                const OperandOptions& options) {
  Json object = NewClusterScoped(resource, api::ShardWebhookConfigurationName(ns), options);
  SetLabel(object, kShardNamespaceLabel, ns);
  return object;
}

}  // namespace

DesiredObjects RulePolicy(const std::string& ns, const api::PodPlacementConfigs& in_force,
                          const LeftOutRulesOf& left_out, const OperandOptions& options) {
  Json validations = Json::array();
  for (const api::PodPlacementConfig* config : in_force) {
    if (!config->Rules().empty()) AddValidations(*config, left_out, validations);
  }
  bool wanted = !validations.empty();
  Json question = {{"name", "question"},
                   {"expression",
                    "request.dryRun && has(request.options.fieldManager) && "
                    "request.options.fieldManager.startsWith('" +
                        std::string(api::kQuestionPrefix) + "')"}};
  Json policy = NewOfShard(kube::kValidatingAdmissionPolicies, ns, options);
  policy["spec"] = {{"failurePolicy", "Ignore"},
                    {"matchConstraints", UpdatesOfPodsIn(ns)},
                    {"matchConditions", Json::array({std::move(question)})},
                    {"validations", std::move(validations)}};
  Json binding = NewOfShard(kube::kValidatingAdmissionPolicyBindings, ns, options);
  binding["spec"] = {{"policyName", api::ShardWebhookConfigurationName(ns)},
                     {"validationActions", Json::array({"Warn"})}};
  return {{kube::kValidatingAdmissionPolicies, std::move(policy), wanted},
          {kube::kValidatingAdmissionPolicyBindings, std::move(binding), wanted}};
}

}  // namespace operator_
