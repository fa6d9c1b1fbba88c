// SPDX-License-Identifier: Apache-2.0
#include "operator/webhooks/preference_gate.h"

#include <string_view>
#include <utility>

#include "api/names.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"
#include "operator/objects/gating_policies.h"
#include "operator/objects/webhook_configurations.h"

namespace operator_ {
namespace {

using kube::Async;
using kube::Error;
using kube::Json;
using kube::Ok;
using kube::Result;

// Null if there is none, or if the API server does not know the kind.
Async<Json> ReadOne(kube::Client& client, kube::Resource resource, std::string_view name) {
  // The operator may list these kinds, and get none.
  kube::ListOptions one{.field_selector = "metadata.name=" + std::string(name)};
  auto found = co_await kube::ListObjects(client, resource, std::move(one));
  if (IsNotFound(found)) co_return Json();
  if (!found) co_return found.error().Prefix("list " + std::string(resource.plural));
  if (found->items.empty()) co_return Json();
  co_return found->items[0].body();
}

bool Covers(const std::optional<std::set<std::string>>& namespaces, const std::string& ns) {
  return !namespaces || namespaces->contains(ns);
}

}  // namespace

PreferenceGate::PreferenceGate(kube::Client& client, kube::Clock& clock)
    : client_(client), clock_(clock), read_([this] { return ReadOnce(); }) {}

Async<PreferenceGate::Read> PreferenceGate::ReadOnce() {
  auto gating = std::make_shared<Gating>();
  Result<Json> configuration = co_await ReadOne(client_, kube::kMutatingWebhookConfigurations,
                                                api::kMutatingWebhookConfigurationName);
  if (!configuration) co_return configuration.error();
  gating->webhook = !configuration->is_null();
  if (gating->webhook) gating->by_webhook = PreferringNamespacesOf(*configuration);
  Result<Json> policy =
      co_await ReadOne(client_, kube::kMutatingAdmissionPolicies, kClusterGatePolicyName);
  if (!policy) co_return policy.error();
  gating->policy = !policy->is_null();
  if (!gating->policy) co_return Read(std::move(gating));
  Result<Json> binding =
      co_await ReadOne(client_, kube::kMutatingAdmissionPolicyBindings, kPreferencesGatePolicyName);
  if (!binding) co_return binding.error();
  gating->by_policy = PreferringNamespacesOf(*policy, *binding);
  co_return Read(std::move(gating));
}

Async<> PreferenceGate::Await(std::string ns, kube::TimePoint deadline) {
  while (true) {
    kube::SharedCall<Read> call = read_;
    Result<Read> read = co_await call.Call();
    if (!read) co_return read.error();
    const Gating& gating = **read;
    bool by_webhook = gating.webhook && Covers(gating.by_webhook, ns);
    bool by_policy = gating.policy && Covers(gating.by_policy, ns);
    if (!gating.webhook && !gating.policy) co_return Ok();
    if (by_webhook || by_policy) {
      kube::Duration applied = by_webhook ? kConfigurationApplied : kPolicyApplied;
      Result<> slept = co_await clock_.Sleep(applied);
      co_return slept;
    }
    if (clock_.Now() + kReadEvery >= deadline) {
      co_return Error::DeadlineExceeded(
          "new pods of " + ns + " that require an architecture do not get the cluster gate yet");
    }
    Result<> slept = co_await clock_.Sleep(kReadEvery);
    if (!slept) co_return slept;
  }
}

}  // namespace operator_
