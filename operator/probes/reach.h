// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace operator_ {

// Whether the calls of the API server reach a webhook.
enum class Reach {
  kUnknown,  // no probe had an answer that shows it
  kReached,
  kUnreachable,
};

// The reason of conditions about a webhook that is kUnreachable.
inline constexpr std::string_view kWebhookUnreachable = "WebhookUnreachable";

// `known`, or for a new operator what the status that the last one wrote says.
inline Reach ReachOf(Reach known, bool status_says_unreachable) {
  return known == Reach::kUnknown && status_says_unreachable ? Reach::kUnreachable : known;
}

}  // namespace operator_
