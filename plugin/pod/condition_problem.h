// SPDX-License-Identifier: Apache-2.0
// ConditionProblem: what a condition of a configuration complains about. Pure.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "api/conditions.h"

namespace plugin {

// "Degraded is True: WebhookUnreachable: no connection"; "" if nothing is wrong.
inline std::string ConditionProblem(const api::Condition& condition) {
  // True if something is wrong; all others are False then.
  constexpr std::string_view kBad[] = {api::kDegraded, api::kDeprovisioning,
                                       api::kControllerNotRolledOut, api::kWebhookNotRolledOut,
                                       api::kMutatingWebhookConfigurationNotAvailable};
  if (condition.type == api::kProgressing) return "";
  const bool is_bad = std::find(std::begin(kBad), std::end(kBad), condition.type) != std::end(kBad);
  if (condition.status == (is_bad ? "False" : "True")) return "";
  return condition.type + " is " + condition.status + ": " + condition.reason + ": " +
         condition.message;
}

}  // namespace plugin
