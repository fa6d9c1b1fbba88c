// SPDX-License-Identifier: Apache-2.0
// The state of the operands of a scope (a namespace's shard, or the cluster's), as the cluster
// shows it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kube/base/async.h"
#include "kube/client/client.h"
#include "operator/objects/operand_store.h"
#include "operator/probes/reach.h"
#include "operator/status/rollout.h"

namespace operator_ {

struct OperandNames {
  std::string ns;
  std::string controller;
  std::string webhook;
  std::string webhook_configuration;
};

// The label selector of the pods of an operand's Deployment. Any user may set these labels.
std::string PodsOf(std::string_view deployment);

// The Deployment ns/deployment, from the store.
Rollout RolloutIn(const OperandStore& store, const std::string& ns, std::string_view deployment);

// From the store; without `problem` and the members about policies.
OperandHealth Observe(const OperandStore& store, const OperandNames& names);

// Sets `health.problem`: to the error in `applied` if there is one, else to the reason why the
// controller or the webhook is not available, or does not get a new template. For that, the pods of
// one that is not available are listed, if `list_pods`. Errors: the one in `applied` if it is not
// for a status (ProblemOf()); those of listing pods.
kube::Async<> FindProblem(kube::Client& client, OperandNames names, kube::Result<> applied,
                          bool list_pods, OperandHealth& health);

// Sets `health.reach`, and `health.problem` if calls do not reach the webhook and nothing else is
// known to be wrong.
void SetReach(const OperandNames& names, Reach reach, OperandHealth& health);

// Why the pods of Deployment ns/name do not run; nullopt if no reason is known. Errors: those of
// listing pods.
kube::Async<std::optional<Problem>> FindProblemOf(kube::Client& client, std::string ns,
                                                  std::string name, const Rollout& rollout);

}  // namespace operator_
