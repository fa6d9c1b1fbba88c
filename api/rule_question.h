// SPDX-License-Identifier: Apache-2.0
// The question which rules of a PodPlacementConfig match a pod: what a controller asks the API
// server, and what the ValidatingAdmissionPolicy of the config's namespace answers.
//
// The question is a PUT of the unchanged pod with dryRun=All and the field manager QuestionOf().
// The answer is in the warnings of the response: each ends with one of the texts below. Without
// kRulesEvaluated, there is no answer: the policy does not know this generation of the config yet.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "api/pod_placement_config.h"

namespace api {

inline constexpr std::string_view kQuestionPrefix = "multiarch-rules-";

inline std::string QuestionOf(const PodPlacementConfig& config) {
  return std::string(kQuestionPrefix) + config.metadata().uid() + "-" +
         std::to_string(config.metadata().generation());
}

// For the rule with this index in spec.celRules: it matches the pod.
inline std::string RuleMatches(size_t index) { return "rule " + std::to_string(index); }
// After all rules, and longer than each of their texts: where the API server cuts its warnings,
// this one is lost first.
inline constexpr std::string_view kRulesEvaluated = "all rules evaluated";

}  // namespace api
