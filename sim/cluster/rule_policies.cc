// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/rule_policies.h"

#include <glog/logging.h>

#include "api/rule_question.h"
#include "kube/types/kinds.h"
#include "sim/cluster/match_conditions.h"
#include "sim/cluster/webhook_match.h"

namespace sim {
namespace {

using kube::Json;

// "OTHER_QUESTION", or "OTHER_QUESTION || !(RULE)".
bool IsViolated(const std::string& expression, const kube::AdmissionAttributes& asked) {
  const std::string question = QuotedIn(expression).at(0);
  if (asked.field_manager != question) return false;
  const size_t rule = expression.find(" || !(");
  return rule == std::string::npos || RuleMatches(expression.substr(rule), *asked.object);
}

}  // namespace

std::set<std::string> RulePolicyCollections() {
  return {kube::kValidatingAdmissionPolicies.Path(),
          kube::kValidatingAdmissionPolicyBindings.Path()};
}

std::vector<std::string> AnswersOfRulePolicies(const KnownObjects& known,
                                               const kube::AdmissionAttributes& asked,
                                               const Json& ns) {
  std::vector<std::string> warnings;
  for (const auto& [key, policy] : known.Of(kube::kValidatingAdmissionPolicies.Path())) {
    CHECK(key.name.starts_with("pod-placement-shard-"))
        << "sim/ does not know the ValidatingAdmissionPolicy " << key.name;
    if (!asked.object || !asked.dry_run || !asked.field_manager.starts_with(api::kQuestionPrefix) ||
        !known.Get(kube::kValidatingAdmissionPolicyBindings.Path(), key))
      continue;
    const Json& constraints = (*policy)["spec"]["matchConstraints"];
    if (!MatchesRules(constraints["resourceRules"], asked) ||
        !MatchesSelectors(constraints, asked, *asked.object, ns))
      continue;
    for (const Json& validation : (*policy)["spec"]["validations"]) {
      if (!IsViolated(validation["expression"], asked)) continue;
      warnings.push_back("Validation failed for ValidatingAdmissionPolicy '" + key.name +
                         "' with binding '" + key.name +
                         "': " + validation["message"].get<std::string>());
    }
  }
  return warnings;
}

}  // namespace sim
