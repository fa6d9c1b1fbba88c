// SPDX-License-Identifier: Apache-2.0
// RulePolicy: answers the question which rules match a pod (api/rule_question.h): for each
// namespace with rules a ValidatingAdmissionPolicy and its binding, both with the name of the
// shard's webhook configuration. It sees only questions, and only warns, so it refuses no write.
#pragma once

#include <string>

#include "api/validation.h"
#include "operator/objects/desired_object.h"
#include "operator/objects/options.h"
#include "operator/rules/left_out_rules.h"

namespace operator_ {

// `in_force`: the configs of `ns`. Not wanted if none has rules. A config without a rule that is
// applied has an answer too: no rule matches.
DesiredObjects RulePolicy(const std::string& ns, const api::PodPlacementConfigs& in_force,
                          const LeftOutRulesOf& left_out, const OperandOptions& options);

}  // namespace operator_
