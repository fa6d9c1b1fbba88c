// SPDX-License-Identifier: Apache-2.0
// ScopeGating: carries out a GatingSwitch for one scope, the cluster or a namespace with a shard.
// The caller applies the webhook and its configuration, as only it has their certificate. Thread:
// the client's.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "operator/gating/gating_policy_prober.h"
#include "operator/gating/gating_switch.h"
#include "operator/objects/desired_object.h"
#include "operator/objects/operand_store.h"
#include "operator/status/rollout.h"

namespace operator_ {

// What can gate pods of a scope.
struct GatingObjects {
  // The namespace; "" for the cluster.
  std::string scope;
  // spec.gating is Policy.
  bool by_policy = false;
  // The desired policies, and those that the cluster has for this scope alone.
  DesiredObjects policies;
  std::vector<ObjectId> stored_policies;  // in the order of removal
  // Of a namespace: the names of its configs for which the policy is to gate, and of those for
  // which it does. The caller writes their status as the plan says.
  std::set<std::string> wanted_configs;
  std::set<std::string> gated_configs;
  ObjectId configuration;
  // What serves the webhook, in the order of removal: the last one is in the store until all are
  // removed.
  std::vector<ObjectId> webhook;
};

// Those of `objects` with the name of `webhook`, in the order of removal.
std::vector<ObjectId> OfWebhook(const DesiredObjects& objects, std::string_view webhook);

class ScopeGating {
 public:
  // Returns: the actions for now. Sets what `health` says about policies and the switch.
  GatingPlan Plan(const GatingObjects& objects, const OperandStore& store,
                  const GatingPolicyProber& prober, kube::TimePoint now, OperandHealth& health);
  // Writes or removes the policies, and removes the configuration and the webhook, as `plan` says.
  // Policies that are not wanted stay until all wanted ones are stored.
  // `log`: Request::log.
  kube::Async<> Apply(GatingObjects objects, GatingPlan plan, OperandStore& store,
                      GatingPolicyProber& prober, OperandHealth& health, const std::string& log);

 private:
  // By plural and key.
  using Names = std::set<std::pair<std::string_view, kube::ObjectKey>>;

  static Names NamesOfWanted(const DesiredObjects& policies);
  // Leaves those in `objects.stored_policies` that are not wanted. `wanted`: NamesOfWanted().
  kube::Async<> WritePolicies(GatingObjects& objects, const Names& wanted, OperandStore& store,
                              const std::string& log);

  GatingSwitch switch_;
  // The policies that were written before a proof was asked for, and the number of the last such
  // proof.
  Names asked_for_;
  uint64_t proof_ = 0;
};

}  // namespace operator_
