// SPDX-License-Identifier: Apache-2.0
#include "operator/gating/scope_gating.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>

namespace operator_ {
namespace {

using kube::Async;
using kube::Ok;
using kube::Result;

bool AnyIn(const OperandStore& store, const std::vector<ObjectId>& objects) {
  return std::any_of(objects.begin(), objects.end(), [&](const ObjectId& object) {
    return store.Get(object.resource, object.key).has_value();
  });
}

Async<> RemoveAll(OperandStore& store, std::vector<ObjectId> objects, const std::string& log) {
  for (const ObjectId& object : objects) {
    Result<> removed = co_await store.Remove(object.resource, object.key, log);
    if (!removed) co_return removed.error();
  }
  co_return Ok();
}

}  // namespace

std::vector<ObjectId> OfWebhook(const DesiredObjects& objects, std::string_view webhook) {
  std::vector<ObjectId> ids = InOrderOfRemoval(objects);
  std::erase_if(ids, [&](const ObjectId& object) { return object.key.name != webhook; });
  return ids;
}

ScopeGating::Names ScopeGating::NamesOfWanted(const DesiredObjects& policies) {
  Names names;
  for (const DesiredObject& policy : policies) {
    if (policy.wanted) names.emplace(policy.resource.plural, policy.Key());
  }
  return names;
}

GatingPlan ScopeGating::Plan(const GatingObjects& objects, const OperandStore& store,
                             const GatingPolicyProber& prober, kube::TimePoint now,
                             OperandHealth& health) {
  Names wanted = NamesOfWanted(objects.policies);
  bool complete = std::ranges::includes(objects.gated_configs, objects.wanted_configs) &&
                  std::ranges::all_of(objects.policies, [&](const DesiredObject& policy) {
                    return !policy.wanted || store.Get(policy.resource, policy.Key());
                  });
  GatingFacts facts{.by_policy = objects.by_policy,
                    .support = prober.support(),
                    .controller_available = health.controller.available,
                    .webhook_available = health.webhook.available,
                    .configuration = health.webhook_configured};
  bool policies = !objects.stored_policies.empty() || !objects.gated_configs.empty();
  facts.policies = policies && prober.support() != GatingSupport::kNotServed;
  facts.webhook = objects.by_policy && AnyIn(store, objects.webhook);
  facts.policies_proven = complete && !asked_for_.empty() && prober.IsProven(proof_) &&
                          std::ranges::includes(asked_for_, wanted);
  facts.policies_missing = !complete;
  GatingPlan plan = switch_.Decide(facts, now);
  health.by_policy = plan.by_policy;
  health.switching = plan.switching;
  health.gating_policies_configured = facts.policies && complete;
  return plan;
}

Async<> ScopeGating::Apply(GatingObjects objects, GatingPlan plan, OperandStore& store,
                           GatingPolicyProber& prober, OperandHealth& health,
                           const std::string& log) {
  if (plan.policies == GatingAction::kWrite) {
    Names wanted = NamesOfWanted(objects.policies);
    Result<> written = co_await WritePolicies(objects, wanted, store, log);
    if (!written) co_return written.error();
    if (health.gating_policies_configured) {
      Result<> removed = co_await RemoveAll(store, std::move(objects.stored_policies), log);
      if (!removed) co_return removed.error();
    }
    health.gating_policies_configured = plan.by_policy || health.gating_policies_configured;
    if (plan.needs_proof && !std::ranges::includes(asked_for_, wanted)) {
      asked_for_.merge(wanted);
      proof_ = prober.Ask(objects.scope);
    }
  }
  if (plan.policies == GatingAction::kRemove) {
    LOG(INFO) << log << " webhooks gate the pods: removing the policies";
    // The same policies, written again later, need another proof.
    asked_for_.clear();
    Result<> removed = co_await RemoveAll(store, std::move(objects.stored_policies), log);
    if (!removed) co_return removed.error();
    health.gating_policies_configured = false;
  }
  if (plan.configuration == GatingAction::kRemove) {
    LOG(INFO) << log << " policies gate the pods: removing the webhook configuration";
    const ObjectId& configuration = objects.configuration;
    Result<> removed = co_await store.Remove(configuration.resource, configuration.key, log);
    if (!removed) co_return removed.error();
    health.webhook_configured = false;
  }
  if (plan.webhook == GatingAction::kRemove) {
    LOG(INFO) << log << " policies gate the pods: removing the webhook";
    Result<> removed = co_await RemoveAll(store, std::move(objects.webhook), log);
    if (!removed) co_return removed.error();
  }
  co_return Ok();
}

Async<> ScopeGating::WritePolicies(GatingObjects& objects, const Names& wanted, OperandStore& store,
                                   const std::string& log) {
  for (DesiredObject& policy : objects.policies) {
    if (!policy.wanted) continue;
    Result<> written = co_await store.Ensure(std::move(policy), log);
    if (!written) co_return written.error();
  }
  std::erase_if(objects.stored_policies, [&](const ObjectId& stored) {
    return wanted.contains({stored.resource.plural, stored.key});
  });
  co_return Ok();
}

}  // namespace operator_
