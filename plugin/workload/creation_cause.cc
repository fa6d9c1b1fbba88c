// SPDX-License-Identifier: Apache-2.0
#include "plugin/workload/creation_cause.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "kube/base/one_line.h"

namespace plugin {
namespace {

struct Refusal {
  std::string_view text;  // of the API server's answer
  std::string_view name;
  std::string_view why;
  std::string_view next;
};
// The first one that is in the answer counts.
constexpr Refusal kRefusals[] = {
    {"exceeded quota", "QuotaExceeded", "a quota of the namespace has no room for the pod",
     "delete pods, ask for less, or raise the ResourceQuota"},
    {"failed calling webhook", "WebhookUnreachable", "a webhook does not answer the API server",
     "look at the pods of the webhook that is named; a pod is not created without its answer"},
    {"denied the request", "PolicyRefuses", "a policy or a webhook refuses the pod",
     "change the pod template as it asks"},
    {"denied request", "PolicyRefuses", "a policy refuses the pod",
     "change the pod template as it asks"},
    {"forbidden", "NotAllowed", "the API server does not allow the pod",
     "change the pod template, or the rights of its ServiceAccount"},
};

}  // namespace

std::optional<Cause> FindCreationCause(const WorkloadEvidence& evidence) {
  if (evidence.wanted >= 0 && std::cmp_greater_equal(evidence.pods.size(), evidence.wanted))
    return std::nullopt;
  auto failed =
      std::find_if(evidence.events.rbegin(), evidence.events.rend(),
                   [](const kube::core::Event& event) { return event.reason() == "FailedCreate"; });
  if (failed == evidence.events.rend()) return std::nullopt;
  const std::string answer = kube::OneLine(failed->message());
  for (const Refusal& refusal : kRefusals) {
    if (answer.find(refusal.text) == std::string::npos) continue;
    return Cause{std::string(refusal.name), std::string(refusal.why) + ": " + answer,
                 std::string(refusal.next)};
  }
  return Cause{"NotCreated", "pods cannot be created: " + answer, "see the answer"};
}

}  // namespace plugin
