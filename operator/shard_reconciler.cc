// SPDX-License-Identifier: Apache-2.0
#include "operator/shard_reconciler.h"

#include <glog/logging.h>

#include <optional>

#include "api/label_selector.h"
#include "api/names.h"
#include "api/validation.h"
#include "kube/client/typed.h"
#include "operator/certificates/certificates.h"
#include "operator/objects/kinds.h"
#include "operator/objects/metadata.h"
#include "operator/objects/shard_objects.h"
#include "operator/objects/webhook_configurations.h"
#include "operator/status/pod_trouble.h"
#include "operator/status/write_status.h"
#include "placement/gate.h"

namespace operator_ {
namespace {

using kube::Async;
using kube::Error;
using kube::ObjectKey;
using kube::Ok;
using kube::Outcome;
using kube::Result;
using kube::core::Pod;

// Between two steps of one round, so that other namespaces get their turn.
constexpr std::chrono::milliseconds kNextStep{10};

// Of the pods that wait for a shard: the gate that a shard removes, or none yet.
ChooseGates LocalGate(bool remove) {
  return [remove](const Pod& pod) -> std::optional<std::vector<std::string>> {
    if (!placement::HasGate(pod, api::kLocalGate)) return std::nullopt;
    std::vector<std::string> gates;
    if (remove) gates.emplace_back(api::kLocalGate);
    return gates;
  };
}

ObjectKey WebhookConfigurationKey(const std::string& ns) {
  return {"", api::ShardWebhookConfigurationName(ns)};
}

std::vector<const api::PodPlacementConfig*> Pointers(
    const std::vector<api::PodPlacementConfig>& configs) {
  std::vector<const api::PodPlacementConfig*> pointers;
  for (const api::PodPlacementConfig& config : configs) pointers.push_back(&config);
  return pointers;
}

}  // namespace

ShardReconciler::ShardReconciler(kube::Client& client, kube::Clock& clock, OperandOptions options,
                                 const ConfigStore& configs, const Namespaces& namespaces,
                                 OperandStore& store, kube::EventRecorder& events,
                                 ShardTiming timing)
    : client_(client),
      clock_(clock),
      options_(std::move(options)),
      configs_(configs),
      namespaces_(namespaces),
      store_(store),
      events_(events),
      timing_(timing) {}

Async<Outcome> ShardReconciler::Reconcile(kube::Request request) {
  std::string ns = request.key.name;
  ConfigList configs = configs_.In(ns);
  std::optional<api::ClusterPodPlacementConfig> cluster = configs_.Cluster();

  ShardView view;
  if (IsReservedNamespace(ns, options_)) {
    view.none = NoShard::kReservedNamespace;
  } else if (!cluster) {
    view.none = NoShard::kNoClusterConfig;
  } else if (!configs.empty()) {
    const std::optional<kube::meta::LabelSelector>& selector = cluster->spec.namespace_selector;
    std::optional<bool> selected = namespaces_.Selects(selector, ns);
    if (!selected) co_return Outcome::Done();  // woken again when the watch brings the namespace
    if (!*selected) {
      view.none = NoShard::kNamespaceNotSelected;
      view.selector = api::LabelSelectorToJson(*selector).dump(
          -1, ' ', false, kube::Json::error_handler_t::replace);
    }
  }
  if (!configs.empty() && !view.none) {
    removals_.erase(ns);
    co_return co_await Provision(std::move(ns), std::move(configs), cluster->spec.log_verbosity);
  }

  Result<Outcome> removed = co_await Deprovision(ns);
  if (auto removal = removals_.find(ns); removal != removals_.end())
    view.removal = removal->second.waits;
  Result<> written = co_await WriteStatuses(std::move(configs), std::move(view));
  if (!removed) co_return removed.error();
  if (!written) co_return written.error();
  co_return *removed;
}

Async<Outcome> ShardReconciler::Provision(std::string ns, ConfigList configs,
                                          std::string log_verbosity) {
  ShardView view;
  Result<> applied = co_await ApplyShard(ns, configs, log_verbosity, view);
  if (!applied && applied.error().HasCause("NamespaceTerminating")) {
    co_return Outcome::Done();  // the namespace is being deleted: its PodPlacementConfigs go next
  }
  if (!applied) {
    view.trouble = TroubleOf(applied.error());
    if (!view.trouble) co_return applied.error();
  }

  // Why something does not run is asked of its pods, and only then.
  if (applied && !(view.controller.available && view.webhook.available)) {
    std::string_view stuck =
        view.controller.available ? api::kShardWebhookName : api::kShardControllerName;
    Result<std::optional<Trouble>> pods = co_await PodTrouble(client_, ns, std::string(stuck));
    if (!pods) co_return pods.error();
    view.trouble = WorstTrouble(view.controller.available ? view.webhook : view.controller, *pods);
  }
  auto bundle = bundles_.find(ns);
  bool pending = bundle != bundles_.end() && bundle->second.pending;
  bool settled =
      view.controller.complete && view.webhook.complete && view.webhook_configured && !pending;
  Result<> written = co_await WriteStatuses(std::move(configs), std::move(view));
  if (!applied) co_return applied.error();
  if (!written) co_return written.error();
  co_return Outcome::After(settled ? timing_.resync : timing_.recheck);
}

Async<> ShardReconciler::ApplyShard(const std::string& ns, const ConfigList& configs,
                                    const std::string& log_verbosity, ShardView& view) {
  view.controller = RolloutIn(ns, api::kShardControllerName);
  view.webhook = RolloutIn(ns, api::kShardWebhookName);
  view.webhook_configured =
      store_.Get(kMutatingWebhookConfigurations, WebhookConfigurationKey(ns)).has_value();

  Result<std::string> ca_bundle = co_await CaBundle(ns, /*look=*/!view.webhook.available);
  if (!ca_bundle) co_return ca_bundle.error();
  DesiredObjects objects = ShardObjects(ns, log_verbosity, options_);
  for (DesiredObject& object : objects) {
    Result<> applied = co_await store_.Ensure(std::move(object));
    if (!applied) co_return applied.error();
  }
  bool runs = view.controller.available && view.webhook.available;
  if (!runs && !view.webhook_configured) co_return Ok();
  DesiredObject configuration{
      kMutatingWebhookConfigurations,
      ShardWebhookConfiguration(ns, Pointers(configs), *ca_bundle, options_)};
  Result<> applied = co_await store_.Ensure(std::move(configuration));
  if (!applied) co_return applied.error();
  view.webhook_configured = true;
  co_return Ok();
}

Async<std::string> ShardReconciler::CaBundle(std::string ns, bool look) {
  auto known = bundles_.find(ns);
  if (!look && known != bundles_.end()) {
    kube::Duration good_for = known->second.pending ? timing_.recheck : timing_.resync;
    if (clock_.Now() < known->second.checked + good_for) co_return known->second.ca_pem;
  }
  CertificateRequest request{
      .authority = {options_.ns, ShardAuthorityName(ns)},
      .serving = {ns, std::string(api::kShardWebhookName)},
      .dns_names = {ServiceDnsName(std::string(api::kShardWebhookName), ns)},
      .labels = {{std::string(kShardNamespaceLabel), ns}},
      .serving_owner = OwnNamespace(options_),
      .bundles = {{kMutatingWebhookConfigurations, api::ShardWebhookConfigurationName(ns)}},
  };
  Result<IssuedCertificate> issued =
      co_await EnsureCertificate(client_, clock_, std::move(request));
  if (!issued) co_return issued.error();
  bundles_[ns] = {issued->ca_bundle_pem, clock_.Now(), issued->pending};
  co_return issued->ca_bundle_pem;
}

Async<Outcome> ShardReconciler::Deprovision(std::string ns) {
  Result<bool> left = co_await AnythingLeft(ns);
  if (!left) co_return left.error();
  if (!*left) {
    removals_.erase(ns);
    co_return Outcome::Done();
  }

  // From here on no pod is gated any more.
  Removal& removal = removals_[ns];
  if (!removal.webhook_gone) {
    Result<> removed =
        co_await store_.Remove(kMutatingWebhookConfigurations, WebhookConfigurationKey(ns));
    if (!removed) co_return removed.error();
    removal.since = clock_.Now();
    removal.webhook_gone = true;
    removal.waits = "the shard is being removed";
    LOG(INFO) << "namespace=" << ns << " removing its shard";
  }

  // The shard drains the pods that are gated; those that it leaves are ungated here.
  bool removes = clock_.Now() - removal.since >= timing_.drain ||
                 !RolloutIn(ns, api::kShardControllerName).available;
  ChooseGates choose = LocalGate(removes);
  Result<bool> complete =
      co_await removal.ungating.Step(client_, clock_, ns, std::move(choose), removes);
  if (!complete) co_return complete.error();
  if (!*complete) co_return Outcome::After(kNextStep);
  kube::Duration waited = clock_.Now() - removal.since;
  if (removal.ungating.last().gated > 0) {
    bool enough =
        waited >= timing_.drain + timing_.give_up && removal.ungating.tries() >= timing_.tries;
    removal.waits = removal.ungating.Describe();
    if (!enough) co_return Outcome::After(timing_.poll);
    removal.ungating.ReportLeft(events_);
  }
  if (waited < timing_.settle) co_return Outcome::After(timing_.poll);

  Result<> removed = co_await RemoveObjects(ns);
  if (!removed) co_return removed.error();
  removals_.erase(ns);
  bundles_.erase(ns);
  LOG(INFO) << "namespace=" << ns << " its shard is removed";
  co_return Outcome::Done();
}

Async<bool> ShardReconciler::AnythingLeft(std::string ns) {
  if (store_.Get(kMutatingWebhookConfigurations, WebhookConfigurationKey(ns))) co_return true;
  DesiredObjects objects = ShardObjects(ns, "", options_);
  for (const DesiredObject& object : objects) {
    if (store_.Get(object.resource, object.Key())) co_return true;
  }
  ObjectKey authority{options_.ns, ShardAuthorityName(ns)};
  Result<kube::core::Secret> secret = co_await kube::Get<kube::core::Secret>(client_, authority);
  if (!secret && !IsNotFound(secret)) co_return secret.error();
  co_return secret.has_value();
}

Async<> ShardReconciler::RemoveObjects(std::string ns) {
  DesiredObjects objects = ShardObjects(ns, "", options_);
  std::vector<std::pair<kube::Resource, ObjectKey>> keys;
  for (auto object = objects.rbegin(); object != objects.rend(); ++object) {
    keys.emplace_back(object->resource, object->Key());
  }
  // The shard made it itself, and without its Role cannot make it again.
  keys.emplace_back(kLeases, ObjectKey{ns, std::string(api::kShardControllerName)});
  keys.emplace_back(kSecrets, ObjectKey{ns, std::string(api::kShardWebhookName)});
  Result<> all = Ok();
  for (auto& [resource, key] : keys) {
    Result<> removed = co_await store_.Remove(resource, key);
    if (!removed) all = removed;
  }
  // The authority last, and only then: it is the sign that something is left.
  if (!all) co_return all.error();
  ObjectKey authority{options_.ns, ShardAuthorityName(ns)};
  co_return co_await store_.Remove(kSecrets, std::move(authority));
}

Async<> ShardReconciler::WriteStatuses(ConfigList configs, ShardView view) {
  std::vector<const api::PodPlacementConfig*> all = Pointers(configs);
  for (const api::PodPlacementConfig& config : configs) {
    const api::PodPlacementConfig* holder = api::PriorityHolder(config, all);
    api::PodPlacementConfigStatus status = ShardStatus(config, view, holder, clock_.WallNow());
    if (status == config.status) continue;
    Result<> written =
        co_await WriteStatus(client_, kube::ResourceOf<api::PodPlacementConfig>::value,
                             kube::KeyOf(config), api::StatusToJson(status));
    if (!written) co_return written.error();
  }
  co_return Ok();
}

Rollout ShardReconciler::RolloutIn(const std::string& ns, std::string_view deployment) const {
  std::optional<kube::Unstructured> found = store_.Get(kDeployments, {ns, std::string(deployment)});
  return RolloutOf(found ? &found->body() : nullptr);
}

}  // namespace operator_
