// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/writer.h"

#include <utility>

#include "api/names.h"

namespace sim::checker {

std::string Writer::Describe() const {
  switch (program) {
    case Program::kOther:
      return "another client";
    case Program::kOperator:
      return "the operator";
    case Program::kClusterController:
      return "the cluster controller";
    case Program::kClusterWebhook:
      return "the cluster's webhook";
    case Program::kPolicyWebhook:
      return "the policy webhook";
    case Program::kShard:
      return "the shard of " + ns;
    case Program::kShardWebhook:
      return "the webhook of " + ns;
  }
  return "";
}

Writer WriterOf(std::string_view user, const Facts& facts) {
  constexpr std::string_view kPrefix = "system:serviceaccount:";
  if (!user.starts_with(kPrefix)) return {};
  user.remove_prefix(kPrefix.size());
  size_t colon = user.find(':');
  if (colon == std::string_view::npos) return {};
  std::string ns(user.substr(0, colon));
  std::string_view name = user.substr(colon + 1);
  if (ns == facts.operator_namespace) {
    constexpr std::pair<std::string_view, Program> kCluster[] = {
        {"multiarch-tuning-operator", Program::kOperator},
        {api::kControllerName, Program::kClusterController},
        {api::kWebhookName, Program::kClusterWebhook},
        {"pod-placement-policy-web-hook", Program::kPolicyWebhook}};
    for (const auto& [account, program] : kCluster) {
      if (name == account) return {program, std::move(ns)};
    }
  }
  if (name == api::kShardControllerName) return {Program::kShard, std::move(ns)};
  if (name == api::kShardWebhookName) return {Program::kShardWebhook, std::move(ns)};
  return {};
}

}  // namespace sim::checker
