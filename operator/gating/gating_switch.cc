// SPDX-License-Identifier: Apache-2.0
#include "operator/gating/gating_switch.h"

namespace operator_ {
namespace {

using kube::Duration;
using kube::TimePoint;

void Note(bool holds, TimePoint now, std::optional<TimePoint>& since) {
  if (!holds) {
    since.reset();
  } else if (!since) {
    since = now;
  }
}

// How long until `since` is kGatingSettles ago; zero or less if it is.
Duration Left(TimePoint since, TimePoint now) { return since + kGatingSettles - now; }

GatingAction WriteIf(bool wanted) { return wanted ? GatingAction::kWrite : GatingAction::kNone; }

// Removes what `since` allows to remove, else applies it.
GatingAction RemoveAfter(const std::optional<TimePoint>& since, TimePoint now, GatingPlan& plan) {
  plan.switching = true;
  if (!since) return GatingAction::kWrite;
  Duration left = Left(*since, now);
  if (left <= Duration::zero()) return GatingAction::kRemove;
  plan.next = left;
  return GatingAction::kWrite;
}

// Existing objects stay until it is known what the API server supports.
GatingPlan Keep(const GatingFacts& facts) {
  return {.policies = WriteIf(facts.policies),
          .configuration = WriteIf(facts.configuration),
          .webhook = WriteIf(facts.webhook || facts.configuration),
          .by_policy = !facts.webhook && !facts.configuration};
}

}  // namespace

GatingPlan GatingSwitch::Decide(const GatingFacts& facts, TimePoint now) {
  Note(facts.configuration && facts.webhook_available && facts.controller_available, now,
       webhook_gates_since_);
  Note(facts.policies_proven, now, policies_gate_since_);
  Note(!facts.configuration, now, unconfigured_since_);
  if (!facts.by_policy) return ToWebhook(facts, now);
  switch (facts.support) {
    case GatingSupport::kUnknown:
      return Keep(facts);
    case GatingSupport::kSupported:
      return ToPolicy(facts, now);
    case GatingSupport::kNotServed:
    case GatingSupport::kNotInForce:
      return ToWebhook(facts, now);
  }
  return Keep(facts);
}

GatingPlan GatingSwitch::ToWebhook(const GatingFacts& facts, TimePoint now) const {
  GatingPlan plan{.webhook = GatingAction::kWrite};
  // No pod is gated for a controller that never ran, nor by a webhook that does not answer.
  bool available = facts.controller_available && facts.webhook_available;
  plan.configuration = WriteIf(available || facts.configuration);
  if (facts.policies) plan.policies = RemoveAfter(webhook_gates_since_, now, plan);
  return plan;
}

GatingPlan GatingSwitch::ToPolicy(const GatingFacts& facts, TimePoint now) const {
  GatingPlan plan{.by_policy = true};
  plan.policies = WriteIf(facts.controller_available || facts.policies || facts.configuration);
  if (facts.configuration) {
    plan.configuration = RemoveAfter(policies_gate_since_, now, plan);
    if (facts.policies_missing) plan.configuration = GatingAction::kWrite;
    plan.needs_proof = !facts.policies_proven;
    plan.webhook = GatingAction::kWrite;
  } else if (facts.webhook) {
    plan.webhook = RemoveAfter(unconfigured_since_, now, plan);
  }
  return plan;
}

}  // namespace operator_
