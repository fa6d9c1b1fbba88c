// SPDX-License-Identifier: Apache-2.0
#include "operator/status/observe.h"

#include <utility>
#include <vector>

#include "kube/client/typed.h"
#include "kube/types/kinds.h"
#include "operator/objects/metadata.h"

namespace operator_ {
namespace {

using kube::Async;
using kube::Ok;
using kube::Result;

constexpr int kPage = 4;
constexpr int kMaxPods = 32;

// The problem of the pods of Deployment ns/name; see ProblemOfPods().
Async<std::optional<Problem>> PodProblem(kube::Client& client, std::string ns, std::string name) {
  kube::ListOptions options{.ns = std::move(ns), .label_selector = PodsOf(name)};
  // Any user may set these labels: one pod at a time is in memory, and no more are read than an
  // operand's Deployment has.
  options.limit = kPage;
  kube::ListPages pages(client, kube::kPods, std::move(options), /*protobuf=*/false);
  for (int looked_at = 0; pages.more() && looked_at < kMaxPods; looked_at += kPage) {
    Result<kube::RawList> page = co_await pages.Next();
    if (!page) co_return page.error().Prefix("list the pods of " + name);
    for (const std::string& item : page->items) {
      Result<kube::Unstructured> pod = kube::DecodeBare<kube::Unstructured>(item);
      if (!pod) co_return pod.error().Prefix("a pod of " + name);
      std::vector<kube::Unstructured> one;
      one.push_back(std::move(*pod));
      if (std::optional<Problem> problem = ProblemOfPods(one)) co_return problem;
    }
  }
  co_return std::optional<Problem>();
}

}  // namespace

std::string PodsOf(std::string_view deployment) {
  return std::string(kManagedBySelector) + "," + std::string(kNameLabel) + "=" +
         std::string(deployment);
}

Rollout RolloutIn(const OperandStore& store, const std::string& ns, std::string_view deployment) {
  std::optional<kube::Unstructured> found =
      store.Get(kube::kDeployments, {ns, std::string(deployment)});
  return RolloutOf(found ? &found->body() : nullptr);
}

OperandHealth Observe(const OperandStore& store, const OperandNames& names) {
  kube::ObjectKey configuration{"", names.webhook_configuration};
  return {.controller = RolloutIn(store, names.ns, names.controller),
          .webhook = RolloutIn(store, names.ns, names.webhook),
          .webhook_configured =
              store.Get(kube::kMutatingWebhookConfigurations, configuration).has_value()};
}

Async<> FindProblem(kube::Client& client, OperandNames names, Result<> applied, bool list_pods,
                    OperandHealth& health) {
  if (!applied) {
    health.problem = ProblemOf(applied.error());
    if (!health.problem) co_return applied.error();
    co_return Ok();
  }
  if (health.available()) {
    // Replicas of the older template may still serve.
    health.problem = health.controller.problem;
    if (!health.problem && !health.by_policy) health.problem = health.webhook.problem;
    co_return Ok();
  }
  // One of the needed ones is not available.
  bool webhook = health.controller.available;
  std::string name = webhook ? names.webhook : names.controller;
  const Rollout& rollout = webhook ? health.webhook : health.controller;
  if (!list_pods) {
    health.problem = rollout.problem;
    co_return Ok();
  }
  Result<std::optional<Problem>> problem =
      co_await FindProblemOf(client, std::move(names.ns), std::move(name), rollout);
  if (!problem) co_return problem.error();
  health.problem = *problem;
  co_return Ok();
}

void SetReach(const OperandNames& names, Reach reach, OperandHealth& health) {
  health.reach = reach;
  if (health.problem || reach != Reach::kUnreachable) return;
  health.problem =
      Problem{std::string(kWebhookUnreachable),
              "the API server cannot call the webhook (Service " + names.ns + "/" + names.webhook +
                  ") although its pods are ready, so new pods do not get its gate"};
}

Async<std::optional<Problem>> FindProblemOf(kube::Client& client, std::string ns, std::string name,
                                            const Rollout& rollout) {
  Result<std::optional<Problem>> pods = co_await PodProblem(client, std::move(ns), std::move(name));
  if (!pods) co_return pods.error();
  co_return RootCause(rollout, *pods);
}

}  // namespace operator_
