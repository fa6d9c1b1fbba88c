// SPDX-License-Identifier: Apache-2.0
// GatingSwitch: which objects of one scope (the cluster, or a namespace with a shard) are wanted so
// that its new pods are gated by the mechanism that spec.gating names, and the steps from the other
// one. Pure.
//
// Both mechanisms may be in force at the same time, as neither adds what is already there. So the
// new one is written first; the old one goes when API servers have had time to use the new one;
// what served the webhook goes when API servers have had time to stop calling it. Only facts of the
// cluster decide, and the times are counted anew after a restart: an operator that stops in the
// middle is continued by the next one.
#pragma once

#include <chrono>
#include <optional>

#include "kube/base/clock.h"
#include "operator/gating/gating_support.h"

namespace operator_ {

// API servers see a change with small delays between each other, and a proof is about one of them.
inline constexpr std::chrono::seconds kGatingSettles{10};

struct GatingFacts {
  // spec.gating is Policy.
  bool by_policy = false;
  GatingSupport support = GatingSupport::kUnknown;
  bool controller_available = false;
  bool webhook_available = false;
  // In the cluster: a policy that gates pods; the webhook configuration; an object that serves it.
  bool policies = false;
  bool configuration = false;
  bool webhook = false;
  // An API server has shown that it applies what was written before, and a policy of each name that
  // is now wanted was, and is stored. It need not be the present version: versions change with the
  // configurations of tenants, who must not delay a switch.
  bool policies_proven = false;
  // A wanted policy is not stored.
  bool policies_missing = false;
};

enum class GatingAction { kNone, kWrite, kRemove };

struct GatingPlan {
  GatingAction policies = GatingAction::kNone;
  GatingAction configuration = GatingAction::kNone;
  // The webhook itself: Deployment, Service, certificate and so on.
  GatingAction webhook = GatingAction::kNone;
  // Policies, not webhooks, gate the pods.
  bool by_policy = false;
  // Objects of the other mechanism are left.
  bool switching = false;
  // The next step waits for a proof that the API servers apply the policies.
  bool needs_proof = false;
  // When the next step is due, if only the time decides.
  std::optional<kube::Duration> next;

  bool operator==(const GatingPlan&) const = default;
};

class GatingSwitch {
 public:
  // To be called in every reconcile of the scope.
  GatingPlan Decide(const GatingFacts& facts, kube::TimePoint now);

 private:
  GatingPlan ToWebhook(const GatingFacts& facts, kube::TimePoint now) const;
  GatingPlan ToPolicy(const GatingFacts& facts, kube::TimePoint now) const;

  // Since when, as this process saw it: the webhook is configured and available, the policies are
  // proven, there is no webhook configuration.
  std::optional<kube::TimePoint> webhook_gates_since_;
  std::optional<kube::TimePoint> policies_gate_since_;
  std::optional<kube::TimePoint> unconfigured_since_;
};

}  // namespace operator_
