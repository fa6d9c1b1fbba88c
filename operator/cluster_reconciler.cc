// SPDX-License-Identifier: Apache-2.0
#include "operator/cluster_reconciler.h"

#include <glog/logging.h>

#include "api/names.h"
#include "kube/client/typed.h"
#include "operator/certificates/certificates.h"
#include "operator/objects/cluster_objects.h"
#include "operator/objects/foreign_objects.h"
#include "operator/objects/kinds.h"
#include "operator/objects/webhook_configurations.h"
#include "operator/status/pod_trouble.h"
#include "operator/status/write_status.h"
#include "operator/teardown/finalizers.h"
#include "placement/gate.h"

namespace operator_ {
namespace {

using kube::Async;
using kube::ObjectKey;
using kube::Ok;
using kube::Outcome;
using kube::Result;
using kube::core::Pod;

constexpr char kAuthorityName[] = "pod-placement-ca";

// Between two steps of one round over the pods.
constexpr std::chrono::milliseconds kNextStep{10};

// Of the pods that wait when the operands go: what to remove.
enum class Ungate { kNothing, kClusterGateAlone, kBoth };

ChooseGates GatesOf(Ungate ungate) {
  return [ungate](const Pod& pod) -> std::optional<std::vector<std::string>> {
    std::optional<std::vector<std::string>> both = BothGates(pod);
    if (!both || ungate == Ungate::kBoth) return both;
    std::vector<std::string> gates;
    // A shard may still be at work on a pod that has the local gate, and the cluster gate never
    // goes before that.
    bool alone = ungate == Ungate::kClusterGateAlone && !placement::HasGate(pod, api::kLocalGate);
    if (alone) gates.emplace_back(api::kClusterGate);
    return gates;
  };
}

// Objects in the operator's namespace that others write.
bool NamesObjects(const api::ClusterPodPlacementConfig& config) {
  const api::ClusterPodPlacementConfigSpec& spec = config.spec;
  return !(spec.registries_config_map.empty() && spec.ca_bundle_config_map.empty() &&
           spec.global_pull_secret.empty());
}

ObjectKey WebhookConfigurationKey() {
  return {"", std::string(api::kMutatingWebhookConfigurationName)};
}

}  // namespace

ClusterReconciler::ClusterReconciler(kube::Client& client, kube::Clock& clock,
                                     OperandOptions options, const ConfigStore& configs,
                                     OperandStore& store, kube::EventRecorder& events,
                                     ClusterTiming timing)
    : client_(client),
      clock_(clock),
      options_(std::move(options)),
      configs_(configs),
      store_(store),
      events_(events),
      timing_(timing),
      named_objects_(client, options_.ns) {}

Async<Outcome> ClusterReconciler::Reconcile(kube::Request) {
  std::optional<Config> config = configs_.Cluster();
  if (!config) {
    Result<std::string> waits = co_await Deprovision();
    if (!waits) co_return waits.error();
    co_return waits->empty() ? Outcome::Done() : Outcome::After(timing_.poll);
  }
  if (config->metadata().has_deletion_timestamp()) co_return co_await Delete(std::move(*config));

  removal_.reset();
  Result<> held = co_await AddFinalizers(client_, config->metadata());
  if (!held) co_return held.error();
  std::string not_deprovisioning;
  co_return co_await Provision(std::move(*config), std::move(not_deprovisioning));
}

Async<Outcome> ClusterReconciler::Provision(Config config, std::string deprovisioning) {
  ClusterView view{.deprovisioning = std::move(deprovisioning)};
  Result<> applied = co_await ApplyOperands(config, view);
  if (!applied) {
    view.trouble = TroubleOf(applied.error());
    if (!view.trouble) co_return applied.error();
  }
  if (applied && !(view.controller.available && view.webhook.available)) {
    std::string_view stuck = view.controller.available ? api::kWebhookName : api::kControllerName;
    Result<std::optional<Trouble>> pods =
        co_await PodTrouble(client_, options_.ns, std::string(stuck));
    if (!pods) co_return pods.error();
    view.trouble = WorstTrouble(view.controller.available ? view.webhook : view.controller, *pods);
  }
  // Named objects are not watched, so they are looked at again soon.
  bool settled = view.controller.complete && view.webhook.complete && view.webhook_configured &&
                 !certificate_pending_ && !NamesObjects(config);
  Result<std::optional<Trouble>> objects = co_await named_objects_.Check(config.spec);
  view.named_objects = objects ? *objects : TroubleOf(objects.error());
  if (!objects && !view.named_objects) co_return objects.error();
  Result<> written = co_await WriteClusterStatus(std::move(config), std::move(view));
  if (!applied) co_return applied.error();
  if (!written) co_return written.error();
  if (!release_round_.new_round()) co_return Outcome::After(kNextStep);
  co_return Outcome::After(settled ? timing_.resync : timing_.recheck);
}

Async<> ClusterReconciler::ApplyOperands(const Config& config, ClusterView& view) {
  view.controller = RolloutOfOperand(api::kControllerName);
  view.webhook = RolloutOfOperand(api::kWebhookName);
  view.webhook_configured =
      store_.Get(kMutatingWebhookConfigurations, WebhookConfigurationKey()).has_value();

  // First, as it must not wait until everything else can be applied.
  Result<bool> stopped = co_await StopGating(view.controller);
  if (!stopped) co_return stopped.error();
  if (*stopped) view.webhook_configured = false;

  Result<bool> foreign = co_await RemoveForeignOperands();
  if (!foreign) co_return foreign.error();
  CertificateRequest request{
      .authority = {options_.ns, kAuthorityName},
      .serving = {options_.ns, std::string(api::kWebhookName)},
      .dns_names = {ServiceDnsName(std::string(api::kWebhookName), options_.ns)},
      .labels = {},
      .bundles = {{kMutatingWebhookConfigurations,
                   std::string(api::kMutatingWebhookConfigurationName)}},
  };
  Result<IssuedCertificate> issued =
      co_await EnsureCertificate(client_, clock_, std::move(request));
  if (!issued) co_return issued.error();
  certificate_pending_ = issued->pending;
  DesiredObjects objects = ClusterObjects(config.spec.log_verbosity, options_);
  for (DesiredObject& object : objects) {
    Result<> applied = co_await store_.Ensure(std::move(object));
    if (!applied) co_return applied.error();
  }
  Result<> rights = co_await ApplyGlobalPullSecret(config.spec.global_pull_secret);
  // Without the right to watch the controller reads the Secret for each inspection.
  if (!rights && !FailedWith(rights, kube::Code::kPermissionDenied)) co_return rights.error();
  LOG_IF(WARNING, !rights) << rights.error();
  Result<> alerts = co_await store_.Ensure(ClusterAlerts(options_));
  // Clusters without the Prometheus operator don't know the kind.
  if (!alerts && !IsNotFound(alerts)) co_return alerts.error();

  if (*stopped) co_return Ok();
  bool runs = view.controller.available && view.webhook.available;
  if (!runs && !view.webhook_configured) co_return Ok();
  DesiredObject configuration{kMutatingWebhookConfigurations,
                              ClusterWebhookConfiguration(config, configs_.PreferringNamespaces(),
                                                          issued->ca_bundle_pem, options_)};
  Result<> applied = co_await store_.Ensure(std::move(configuration));
  if (!applied) co_return applied.error();
  view.webhook_configured = true;
  co_return Ok();
}

Async<kube::Duration> ClusterReconciler::ControllerDownFor(bool available) {
  if (!available) {
    // The watch may be behind, and what it said last says nothing of a time without an API server.
    std::string named = "metadata.name=" + std::string(api::kControllerName);
    kube::ListOptions options{.ns = options_.ns, .field_selector = std::move(named)};
    Result<kube::TypedList<kube::Unstructured>> found =
        co_await kube::ListObjects(client_, kDeployments, std::move(options));
    if (!found) co_return found.error().Prefix("read the controller's Deployment");
    available = !found->items.empty() && RolloutOf(&found->items.front().body()).available;
  }
  if (available) {
    controller_down_.reset();
    co_return kube::Duration::zero();
  }
  kube::TimePoint now = clock_.Now();
  bool seen = controller_down_ && now <= controller_down_->last_look + timing_.unseen;
  if (!seen) controller_down_ = {.since = now, .last_look = now};
  controller_down_->last_look = now;
  co_return now - controller_down_->since;
}

Async<> ClusterReconciler::ApplyGlobalPullSecret(std::string secret) {
  DesiredObjects rights = GlobalPullSecretRights(secret, options_);
  for (DesiredObject& object : rights) {
    if (!secret.empty()) {
      Result<> applied = co_await store_.Ensure(std::move(object));
      if (!applied) co_return applied.error();
    } else if (store_.Get(object.resource, object.Key())) {
      Result<> removed = co_await store_.Remove(object.resource, object.Key());
      if (!removed) co_return removed.error();
    }
  }
  co_return Ok();
}

Async<bool> ClusterReconciler::StopGating(const Rollout& controller) {
  Result<kube::Duration> down = co_await ControllerDownFor(controller.available);
  if (!down) co_return down.error();
  kube::Duration waited = *down;
  if (waited < timing_.stop_gating) co_return false;
  if (store_.Get(kMutatingWebhookConfigurations, WebhookConfigurationKey())) {
    LOG(WARNING) << "no controller has run for long: new pods are not gated";
    Result<> removed =
        co_await store_.Remove(kMutatingWebhookConfigurations, WebhookConfigurationKey());
    if (!removed) co_return removed.error();
  }
  if (waited < timing_.release) co_return true;
  Result<> released = co_await ReleasePods();
  if (!released) co_return released.error();
  co_return true;
}

Async<> ClusterReconciler::ReleasePods() {
  if (release_round_.new_round() && clock_.Now() < next_release_) co_return Ok();
  // Nobody gates with the cluster gate any more. A pod that has the local gate alone may be new: it
  // is its shard's, if there is one that runs.
  ChooseGates choose = [this](const Pod& pod) -> std::optional<std::vector<std::string>> {
    bool waits = placement::HasGate(pod, api::kClusterGate) ||
                 !RolloutIn(pod.metadata().namespace_(), api::kShardControllerName).available;
    return waits ? BothGates(pod) : std::nullopt;
  };
  std::string everywhere;
  Result<bool> complete = co_await UngateStep(client_, clock_, std::move(everywhere),
                                              std::move(choose), release_round_);
  if (!complete) co_return complete.error();
  if (!*complete) co_return Ok();
  std::string failures = DescribeFailures(release_round_);
  LOG_IF(WARNING, !failures.empty()) << "no controller runs: " << failures;
  release_round_ = UngateRound();
  next_release_ = clock_.Now() + timing_.release_again;
  co_return Ok();
}

Async<Outcome> ClusterReconciler::Delete(Config config) {
  if (!configs_.empty()) {
    // Woken again when a PodPlacementConfig goes.
    std::string waits =
        "PodPlacementConfigs are left, the first in namespace " + configs_.Namespaces().front();
    co_return co_await Provision(std::move(config), std::move(waits));
  }
  // A config of another operator that is deleted before its operands were replaced: the pods that
  // wait for them do not wait for ever.
  Result<bool> foreign = co_await RemoveForeignOperands();
  if (!foreign) co_return foreign.error();
  if (*foreign && !removal_) removal_.emplace().since = clock_.Now();
  Result<std::string> waits = co_await Deprovision();
  if (!waits) co_return waits.error();
  if (!waits->empty()) {
    ClusterView view{.controller = RolloutOfOperand(api::kControllerName),
                     .webhook = RolloutOfOperand(api::kWebhookName),
                     .deprovisioning = std::move(*waits)};
    Result<> written = co_await WriteClusterStatus(std::move(config), std::move(view));
    if (!written) co_return written.error();
    co_return Outcome::After(timing_.poll);
  }
  Result<> freed = co_await RemoveFinalizers(client_, config.metadata());
  if (!freed) co_return freed.error();
  co_return Outcome::Done();
}

Async<std::string> ClusterReconciler::Deprovision() {
  Result<bool> left = co_await AnythingLeft();
  if (!left) co_return left.error();
  if (!*left) {
    removal_.reset();
    co_return std::string();
  }

  // From here on no pod is gated any more.
  if (!removal_) {
    Result<> removed =
        co_await store_.Remove(kMutatingWebhookConfigurations, WebhookConfigurationKey());
    if (!removed) co_return removed.error();
    removal_.emplace().since = clock_.Now();
    LOG(INFO) << "removing the cluster's operands";
  }

  // The controller drains the pods that are gated; those that it leaves are ungated here, in the
  // end whatever their shard was about to do: a gate that is left now would stay for ever.
  Ungate ungate = RolloutOfOperand(api::kControllerName).available ? Ungate::kNothing
                                                                   : Ungate::kClusterGateAlone;
  if (clock_.Now() - removal_->since >= timing_.drain) ungate = Ungate::kBoth;
  ChooseGates choose = GatesOf(ungate);
  bool removes = ungate == Ungate::kBoth;
  std::string everywhere;
  Ungating& ungating = removal_->ungating;
  Result<bool> complete =
      co_await ungating.Step(client_, clock_, std::move(everywhere), std::move(choose), removes);
  if (!complete) co_return complete.error();
  if (!*complete) co_return ungating.Describe();
  kube::Duration waited = clock_.Now() - removal_->since;
  if (ungating.last().gated > 0) {
    bool enough = waited >= timing_.drain + timing_.give_up && ungating.tries() >= timing_.tries;
    if (!enough) co_return ungating.Describe();
    ungating.ReportLeft(events_);
  }
  if (waited < timing_.settle) co_return std::string("the webhook may still be called");

  Result<> removed = co_await RemoveObjects();
  if (!removed) co_return removed.error();
  removal_.reset();
  LOG(INFO) << "the cluster's operands are removed";
  co_return std::string();
}

Async<bool> ClusterReconciler::RemoveForeignOperands() {
  // The webhook configuration first: no pod shall be gated for a controller that is about to go.
  std::vector<std::pair<kube::Resource, ObjectKey>> keys;
  keys.emplace_back(kMutatingWebhookConfigurations, WebhookConfigurationKey());
  for (const DesiredObject& object : ClusterObjects("", options_)) {
    bool merges_badly =
        object.resource.kind == kDeployments.kind || object.resource.kind == kServices.kind;
    if (merges_badly) keys.emplace_back(object.resource, object.Key());
  }
  bool found = false;
  for (auto& [resource, key] : keys) {
    if (store_.Get(resource, key)) continue;  // the store knows the operator's own alone
    Result<bool> removed = co_await RemoveForeign(client_, resource, key);
    if (!removed) co_return removed.error();
    found = found || *removed;
  }
  co_return found;
}

Async<bool> ClusterReconciler::AnythingLeft() {
  if (removal_) co_return true;  // one that has begun goes to its end
  if (store_.Get(kMutatingWebhookConfigurations, WebhookConfigurationKey())) co_return true;
  for (const DesiredObject& object : ClusterObjects("", options_)) {
    if (store_.Get(object.resource, object.Key())) co_return true;
  }
  ObjectKey authority{options_.ns, kAuthorityName};
  Result<kube::core::Secret> secret = co_await kube::Get<kube::core::Secret>(client_, authority);
  if (!secret && !IsNotFound(secret)) co_return secret.error();
  co_return secret.has_value();
}

Async<> ClusterReconciler::RemoveObjects() {
  DesiredObjects objects = ClusterObjects("", options_);
  objects.push_back(ClusterAlerts(options_));
  for (DesiredObject& object : GlobalPullSecretRights("", options_))
    objects.push_back(std::move(object));
  std::vector<std::pair<kube::Resource, ObjectKey>> keys;
  for (auto object = objects.rbegin(); object != objects.rend(); ++object) {
    keys.emplace_back(object->resource, object->Key());
  }
  keys.emplace_back(kSecrets, ObjectKey{options_.ns, std::string(api::kWebhookName)});
  Result<> all = Ok();
  for (auto& [resource, key] : keys) {
    Result<> removed = co_await store_.Remove(resource, key);
    if (!removed) all = removed;
  }
  // The authority last, and only then: it is the sign that something is left.
  if (!all) co_return all.error();
  ObjectKey authority{options_.ns, kAuthorityName};
  co_return co_await store_.Remove(kSecrets, std::move(authority));
}

Async<> ClusterReconciler::WriteClusterStatus(Config config, ClusterView view) {
  api::ClusterPodPlacementConfigStatus status = ClusterStatus(config, view, clock_.WallNow());
  if (status == config.status) co_return Ok();
  co_return co_await WriteStatus(client_, kube::ResourceOf<Config>::value, kube::KeyOf(config),
                                 api::StatusToJson(status));
}

Rollout ClusterReconciler::RolloutOfOperand(std::string_view deployment) const {
  return RolloutIn(options_.ns, deployment);
}

Rollout ClusterReconciler::RolloutIn(const std::string& ns, std::string_view deployment) const {
  std::optional<kube::Unstructured> found = store_.Get(kDeployments, {ns, std::string(deployment)});
  return RolloutOf(found ? &found->body() : nullptr);
}

}  // namespace operator_
