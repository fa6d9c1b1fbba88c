// SPDX-License-Identifier: Apache-2.0
// Rollout: how far the Deployment of an operand is rolled out, and which problem stops it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kube/base/error.h"
#include "kube/types/unstructured.h"
#include "operator/objects/template_mark.h"
#include "operator/probes/reach.h"
#include "operator/status/problem.h"

namespace operator_ {

struct Rollout {
  // From the Deployment's spec and status; all zero and false if the Deployment does not exist.
  bool exists = false;
  int64_t replicas = 0;
  int64_t ready_replicas = 0;
  // At least one replica serves.
  bool available = false;
  // All replicas are available and of the newest revision, and there are no others.
  bool complete = false;
  // The version of the operator that last applied the Deployment.
  std::string version;
  // The pod template that it last applied.
  std::optional<TemplateMark> mark;
  // From the Deployment's conditions: replicas that cannot be created (quota), a rollout that does
  // not end.
  std::optional<Problem> problem;
  // The problem is that pods cannot be created.
  bool cannot_create = false;
};

// The operands of one scope: a namespace's shard, or those of the cluster.
struct OperandHealth {
  Rollout controller;
  Rollout webhook;
  // The webhook configuration exists, with the entries that it has to have.
  bool webhook_configured = false;
  // Whether the calls of the API server reach the webhook.
  Reach reach = Reach::kUnknown;
  // The same for the policies that gate pods.
  bool gating_policies_configured = false;
  // Policies gate the pods: the webhook is not needed.
  bool by_policy = false;
  // What gated the pods before is being removed, or will be.
  bool switching = false;
  // Why an operand does not run, or cannot be applied.
  std::optional<Problem> problem;

  // The operands that are needed.
  bool available() const { return controller.available && (by_policy || webhook.available); }
  bool rolled_out() const { return controller.complete && (by_policy || webhook.complete); }
  bool configured() const { return by_policy ? gating_policies_configured : webhook_configured; }
  bool complete() const { return rolled_out() && configured() && !switching; }
  // New pods are gated, and released; while `switching`, by either mechanism.
  bool works() const {
    return controller.available &&
           (gating_policies_configured ||
            (webhook.available && webhook_configured && reach != Reach::kUnreachable));
  }
};

// `deployment`: nullptr if it does not exist.
Rollout RolloutOf(const kube::Json* deployment);

// The first problem that the pods of a Deployment show: an image that cannot be pulled, a container
// that crashes, no node to run on. Pods that are being deleted don't count.
std::optional<Problem> ProblemOfPods(const std::vector<kube::Unstructured>& pods);

// An error of the API server that the user has to know: a quota, a refused object, a failing
// webhook of another product, a missing permission. nullopt for errors that pass by themselves,
// such as conflicts and an API server that is not reachable: they do not belong in a status.
std::optional<Problem> ProblemOf(const kube::Error& error);

// The problem of the pods if there is one, as it causes that of their Deployment. A pod that could
// not be created shows none, so a Deployment's FailedCreate comes first.
std::optional<Problem> RootCause(const Rollout& rollout, const std::optional<Problem>& pods);

}  // namespace operator_
