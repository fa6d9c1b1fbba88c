// SPDX-License-Identifier: Apache-2.0
#include "operator/cluster_reconciler.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "api/find_condition.h"
#include "api/names.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"
#include "operator/objects/cluster_objects.h"
#include "operator/objects/gating_policies.h"
#include "operator/objects/namespace_exists.h"
#include "operator/objects/operand.h"
#include "operator/objects/template_mark.h"
#include "operator/objects/webhook_configurations.h"
#include "operator/probes/reach.h"
#include "operator/status/status_events.h"
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

// The scope of the cluster is all namespaces.
constexpr char kEverywhere[] = "";

// Between two steps of ControllerOutage.
constexpr std::chrono::milliseconds kNextStep{10};

std::optional<std::vector<std::string>> ChooseGatesOfCluster(const Pod& pod, TeardownPhase phase) {
  std::optional<std::vector<std::string>> both = BothGates(pod);
  // A gate that is left when the operands are removed would stay for ever, so at the end the
  // teardown does not wait for the shards either.
  if (!both || phase == TeardownPhase::kDrained) return both;
  std::vector<std::string> gates;
  // A shard may still be processing a pod that has the local gate (I1).
  bool cluster_gate_alone = !placement::HasGate(pod, api::kLocalGate);
  if (phase == TeardownPhase::kControllerDown && cluster_gate_alone)
    gates.emplace_back(api::kClusterGate);
  return gates;
}

// "the first is shop/a", and what its deletion waits for.
std::string FirstOf(const ConfigStore& configs, const std::string& ns) {
  std::string text = "the first in namespace " + ns;
  ConfigStore::Configs first = configs.In(ns);
  if (first->empty()) return text;
  const auto& metadata = first->front().metadata();
  text = "the first is " + ns + "/" + metadata.name();
  if (!metadata.has_deletion_timestamp()) return text;
  text += ", whose deletion waits for its finalizers:";
  for (const std::string& finalizer : metadata.finalizers()) text += " " + finalizer;
  return text;
}

// True if cert-manager may have been asked for certificates.
bool UsesCertManager(const api::ClusterPodPlacementConfigStatus& status) {
  const api::Condition* provided =
      api::FindCondition(status.conditions, api::kCertificatesProvided);
  return provided != nullptr && provided->reason.starts_with(kCertManager);
}

bool SaysUnreachable(const api::ClusterPodPlacementConfigStatus& status) {
  const api::Condition* condition =
      api::FindCondition(status.conditions, api::kMutatingWebhookConfigurationNotAvailable);
  return condition != nullptr && condition->reason == kWebhookUnreachable;
}

// The policies that add the cluster gate, whatever the config is, in the order of removal.
std::vector<ObjectId> ClusterGatingPolicyIds(const OperandOptions& options) {
  return InOrderOfRemoval(ClusterGatingPolicies({}, {}, options));
}

// These, and the one that adds the local gate.
std::vector<ObjectId> GatingPolicyIds(const OperandOptions& options) {
  std::vector<ObjectId> ids = ClusterGatingPolicyIds(options);
  for (ObjectId& local : InOrderOfRemoval(LocalGatingPolicy({}, options)))
    ids.push_back(std::move(local));
  return ids;
}

// What adds gates: these policies, after the webhook configuration.
std::vector<ObjectId> GatingIds(std::vector<ObjectId> ids) {
  ObjectId configuration{kube::kMutatingWebhookConfigurations,
                         {"", std::string(api::kMutatingWebhookConfigurationName)}};
  ids.insert(ids.begin(), std::move(configuration));
  return ids;
}

bool IsOfWebhook(const DesiredObject& object) { return object.Key().name == api::kWebhookName; }

// Objects in the operator's namespace that others write.
bool NamesObjects(const api::ClusterPodPlacementConfig& config) {
  const api::ClusterPodPlacementConfigSpec& spec = config.spec;
  return !(spec.registries_config_map.empty() && spec.ca_bundle_config_map.empty() &&
           spec.global_pull_secret.empty());
}

}  // namespace

ClusterReconciler::ClusterReconciler(kube::Client& client, kube::Clock& clock,
                                     OperandOptions options, const ConfigStore& configs,
                                     OperandStore& store, GatingPolicyProber& prober,
                                     WebhookProber& webhook_prober, UpgradeQueue& upgrades,
                                     KnownImages* known_images, kube::EventRecorder& events,
                                     OfFeatures features, ClusterTiming timing)
    : client_(client),
      clock_(clock),
      options_(std::move(options)),
      names_{.ns = options_.ns,
             .controller = std::string(api::kControllerName),
             .webhook = std::string(api::kWebhookName),
             .webhook_configuration = std::string(api::kMutatingWebhookConfigurationName)},
      configs_(configs),
      store_(store),
      prober_(prober),
      webhook_prober_(webhook_prober),
      upgrades_(upgrades),
      known_images_(known_images),
      events_(events),
      features_(std::move(features)),
      timing_(timing),
      provider_(client, clock, store, options_),
      configuration_writes_(clock, kGatingWrites),
      cluster_gating_policies_(ClusterGatingPolicyIds(options_)),
      gating_policies_(GatingPolicyIds(options_)),
      outage_(client, clock, store, options_.ns, GatingIds(cluster_gating_policies_),
              timing.outage),
      teardown_(client, clock, store, events, timing.teardown),
      late_pods_(client, clock, timing.late_pods),
      named_objects_(client, options_.ns) {
  timing_.resync = std::min<std::chrono::milliseconds>(
      timing_.resync, CheckPeriodOf(options_.certificate_validity));
}

Async<Outcome> ClusterReconciler::Reconcile(kube::Request request) {
  std::optional<Config> config = configs_.Cluster();
  if (!config) {
    webhook_prober_.Forget(kEverywhere);
    TeardownScope scope = Scope(ClusterObjects({}, options_), request.log);
    Result<Outcome> outcome = co_await teardown_.Run(std::move(scope));
    if (!outcome) co_return outcome.error();
    if (*outcome == Outcome::Done()) co_return co_await late_pods_.Look(std::move(request.log));
    late_pods_.Forget();
    co_return *outcome;
  }
  if (config->metadata().has_deletion_timestamp())
    co_return co_await Delete(std::move(*config), request.log);

  teardown_.Cancel(kEverywhere);
  late_pods_.Forget();
  Result<> finalizers =
      co_await AddFinalizers(client_, config->metadata(), config->WantsExecFormatErrorMonitor());
  if (!finalizers) co_return finalizers.error();
  std::string not_deprovisioning;
  co_return co_await Provision(std::move(*config), std::move(not_deprovisioning), request.log);
}

Async<Outcome> ClusterReconciler::Provision(Config config, std::string deprovisioning,
                                            const std::string& log) {
  ClusterView view{.deprovisioning = std::move(deprovisioning)};
  Result<> applied = co_await ApplyOperands(config, view, log);
  Result<> found =
      co_await FindProblem(client_, names_, applied, /*list_pods=*/true, view.operands);
  if (!found) co_return found.error();
  if (view.operands.webhook_configured) {
    Reach reach = ReachOf(webhook_prober_.Of(kEverywhere), SaysUnreachable(config.status));
    SetReach(names_, reach, view.operands);
  }
  Result<std::optional<Problem>> objects = co_await named_objects_.Check(config.spec);
  view.named_objects = objects ? *objects : ProblemOf(objects.error());
  if (config.spec.gating == api::kGatingByPolicy) view.gating = prober_.problem();
  if (!objects && !view.named_objects) co_return objects.error();

  // After all else: without them, templates are unchanged, and pods are placed as always.
  bool rights = true;
  if (applied) {
    Result<bool> complete = co_await ApplyTemplateRights(config, log);
    if (!complete) co_return complete.error();
    rights = *complete;
  }

  // Named objects are not watched.
  bool settled =
      view.operands.complete() && !certificate_pending_ && !NamesObjects(config) && rights;
  view.upgrade = upgrades_.progress();
  view.of_features = features_.conditions();
  Result<> written = co_await WriteStatus(config, view);
  if (!applied) co_return applied.error();
  if (!written) co_return written.error();
  if (outage_.ungating()) co_return Outcome::After(kNextStep);
  if (next_of_gating_)
    co_return Outcome::After(std::chrono::ceil<std::chrono::milliseconds>(*next_of_gating_));
  if (view.certificates) {
    settled = settled && view.certificates->message.empty();
    if (settled) co_return Outcome::After(std::min(timing_.resync, timing_.provider_check));
  }
  co_return Outcome::After(settled ? timing_.resync : timing_.recheck);
}

Async<std::optional<std::string>> ClusterReconciler::FirstNamespaceWithConfigs(
    const std::string& log) {
  std::string orphaned;
  for (const std::string& ns : configs_.Namespaces()) {
    Result<bool> exists = co_await NamespaceExists(client_, ns);
    if (!exists) co_return exists.error();
    if (*exists) co_return std::optional(ns);
    if (orphaned.empty()) orphaned = ns;
  }
  LOG_IF(WARNING, !orphaned.empty())
      << log << " PodPlacementConfigs of namespaces that do not exist any more, such as "
      << orphaned << ", are not waited for";
  co_return std::optional<std::string>();
}

Async<Outcome> ClusterReconciler::Delete(Config config, const std::string& log) {
  Result<std::optional<std::string>> ns = co_await FirstNamespaceWithConfigs(log);
  if (!ns) co_return ns.error();
  if (*ns) {
    // One may have been stored during a teardown, whose time and deleted objects are no longer
    // true.
    teardown_.Cancel(kEverywhere);
    late_pods_.Forget();
    // The deletion of the last PodPlacementConfig starts the next reconcile.
    std::string reason = "PodPlacementConfigs exist, " + FirstOf(configs_, **ns);
    co_return co_await Provision(std::move(config), std::move(reason), log);
  }
  webhook_prober_.Forget(kEverywhere);
  if (UsesCertManager(config.status) && !teardown_.IsRunning(kEverywhere)) {
    Result<> withdrawn = co_await provider_.WithdrawFromCertManager(log);
    if (!withdrawn) co_return withdrawn.error();
  }
  // A config of another operator, deleted before this operator replaced the operands: its gated
  // pods must not wait for ever.
  DesiredObjects objects = ClusterObjects({}, options_);
  Result<bool> foreign = co_await RemoveForeignOperands(objects, log);
  if (!foreign) co_return foreign.error();
  if (*foreign) teardown_.Begin(kEverywhere);
  TeardownScope scope = Scope(std::move(objects), log);
  Result<Outcome> outcome = co_await teardown_.Run(std::move(scope));
  if (!outcome) co_return outcome.error();
  if (*outcome != Outcome::Done()) {
    late_pods_.Forget();
    ClusterView view{.operands = Observe(store_, names_),
                     .deprovisioning = teardown_.WaitsFor(kEverywhere)};
    view.operands.by_policy =
        config.spec.gating == api::kGatingByPolicy && !view.operands.webhook.exists;
    Result<> written = co_await WriteStatus(config, view);
    if (!written) co_return written.error();
    co_return *outcome;
  }
  if (std::string remains = features_.remains(); !remains.empty()) {
    ClusterView view{.deprovisioning = std::move(remains)};
    Result<> written = co_await WriteStatus(config, view);
    if (!written) co_return written.error();
    co_return Outcome::After(timing_.recheck);
  }
  Result<> removed = co_await RemoveFinalizers(client_, config.metadata());
  if (!removed) co_return removed.error();
  std::string others = ForeignFinalizers(config.metadata());
  if (!others.empty()) {
    ClusterView view{.deprovisioning =
                         "the operands are removed; the deletion waits for the "
                         "finalizers of others: " +
                         others};
    Result<> written = co_await WriteStatus(config, view);
    if (!written) co_return written.error();
  }
  co_return co_await late_pods_.Look(log);
}

Async<> ClusterReconciler::WriteStatus(const Config& config, const ClusterView& view) {
  auto status = ClusterStatus(config, view, clock_.WallNow());
  Result<> written = co_await operator_::WriteStatus(client_, config, status);
  if (!written) co_return written.error();
  for (StatusEvent& event : EventsOf(config.status, status)) {
    events_.Record(kube::ReferenceTo(config), event.warning, event.reason,
                   std::move(event.message));
  }
  if (std::exchange(certificate_renewed_, false)) {
    events_.Record(kube::ReferenceTo(config), /*warning=*/false, kCertificateRenewed,
                   "the certificate of the cluster's webhook was renewed");
  }
  co_return Ok();
}

bool ClusterReconciler::MarkTemplates(DesiredObjects& objects, const OperandHealth& health) {
  bool current = true;
  for (DesiredObject& object : objects) {
    if (object.resource.kind != kube::kDeployments.kind) continue;
    const Rollout& rollout = IsOfWebhook(object) ? health.webhook : health.controller;
    bool replaces = MarkTemplate(object.body, rollout.exists, rollout.mark, rollout.available);
    current = current && rollout.exists && !replaces;
  }
  return current;
}

Async<> ClusterReconciler::ApplyOperands(const Config& config, ClusterView& view,
                                         const std::string& log) {
  OperandHealth& health = view.operands;
  health = Observe(store_, names_);

  // This comes first, because an operand that cannot be applied must not delay it.
  Result<bool> stopped = co_await outage_.Handle(health.controller.available, log);
  if (!stopped) co_return stopped.error();
  DesiredObjects objects = ClusterObjects(config.spec, options_);
  GatingObjects gating = GatingOf(config, objects);
  GatingPlan plan = scope_gating_.Plan(gating, store_, prober_, clock_.Now(), health);
  next_of_gating_ = plan.next;
  if (*stopped) health.webhook_configured = health.gating_policies_configured = false;

  Result<bool> foreign = co_await RemoveForeignOperands(objects, log);
  if (!foreign) co_return foreign.error();
  bool webhook = plan.webhook == GatingAction::kWrite;
  Result<ProviderState> provider = co_await AskProvider(config, webhook, log);
  if (!provider) co_return provider.error();
  Result<std::string> ca_bundle =
      co_await EnsureCertificates(config, *provider, webhook, view, log);
  if (!ca_bundle) co_return ca_bundle.error();
  if (!webhook) std::erase_if(objects, IsOfWebhook);
  bool by_service_ca = config.spec.certificates && config.spec.certificates->provider == kServiceCa;
  for (DesiredObject& object : objects) {
    if (by_service_ca && object.resource.kind == kube::kServices.kind)
      RequestFromServiceCa(object.body);
  }
  bool current = MarkTemplates(objects, health);
  places_ = PlacesKnownImages(config.spec) && (places_ || (current && health.webhook.complete));
  upgrades_.SeeCluster(current && health.rolled_out());
  for (DesiredObject& object : objects) {
    Result<> applied = co_await store_.Ensure(std::move(object), log);
    if (!applied) co_return applied.error();
  }
  Result<> watch = co_await ApplyGlobalPullSecret(config.spec.global_pull_secret, log);
  // Without the permission to watch it, the controller reads the Secret for each inspection.
  if (!watch && !FailedWith(watch, kube::Code::kPermissionDenied)) co_return watch.error();
  LOG_IF(WARNING, !watch) << log << " " << watch.error();

  if (*stopped) {
    webhook_prober_.Forget(kEverywhere);
    co_return Ok();
  }
  Result<> gated =
      co_await ApplyGating(config, std::move(gating), plan, std::move(*ca_bundle), health, log);
  if (!gated) co_return gated.error();
  bool written = plan.configuration == GatingAction::kWrite;
  webhook_prober_.See(kEverywhere, health.webhook_configured,
                      written && current && health.webhook.complete);
  co_return Ok();
}

GatingObjects ClusterReconciler::GatingOf(const Config& config,
                                          const DesiredObjects& objects) const {
  GatingObjects gating{
      .scope = "",
      .by_policy = config.spec.gating == api::kGatingByPolicy,
      .policies = {},
      // Namespaces may take longer to switch to webhooks.
      .stored_policies = configs_.AnyGatedByPolicy() ? cluster_gating_policies_ : gating_policies_,
      .wanted_configs = {},
      .gated_configs = {},
      .configuration = {kube::kMutatingWebhookConfigurations, {"", names_.webhook_configuration}},
      .webhook = {}};
  std::erase_if(gating.stored_policies,
                [&](const ObjectId& policy) { return !store_.Get(policy.resource, policy.key); });
  // Most clusters have no policies and want none.
  if (!gating.by_policy && gating.stored_policies.empty()) return gating;
  gating.policies = ClusterGatingPolicies(config, configs_.PreferringNamespaces(), options_,
                                          KnownImagesOf(config));
  DesiredObjects local = LocalGatingPolicy(config.spec.excluded_scheduler_names, options_);
  for (DesiredObject& policy : local) gating.policies.push_back(std::move(policy));
  gating.webhook = OfWebhook(objects, names_.webhook);
  gating.webhook.insert(gating.webhook.begin(), {kube::kSecrets, {options_.ns, names_.webhook}});
  return gating;
}

KnownTable ClusterReconciler::KnownImagesOf(const Config& config) const {
  if (known_images_ == nullptr) return {};
  ObjectKey webhook{"", names_.webhook_configuration};
  bool by_policy_alone = config.spec.gating == api::kGatingByPolicy &&
                         !store_.Get(kube::kMutatingWebhookConfigurations, webhook);
  return known_images_->Table(by_policy_alone ? &config : nullptr);
}

Async<> ClusterReconciler::ApplyGating(const Config& config, GatingObjects objects, GatingPlan plan,
                                       std::string ca_bundle, OperandHealth& health,
                                       const std::string& log) {
  if (plan.webhook == GatingAction::kRemove && UsesCertManager(config.status)) {
    Result<> withdrawn = co_await provider_.WithdrawFromCertManager(names_.webhook, log);
    if (!withdrawn) co_return withdrawn.error();
  }
  Result<> gated =
      co_await scope_gating_.Apply(std::move(objects), plan, store_, prober_, health, log);
  if (!gated) co_return gated.error();
  if (plan.configuration != GatingAction::kWrite) co_return Ok();
  DesiredObject configuration{kube::kMutatingWebhookConfigurations,
                              ClusterWebhookConfiguration(config, configs_.PreferringNamespaces(),
                                                          ca_bundle, options_, places_)};
  Result<bool> as_desired = co_await store_.IsAsDesired(configuration);
  if (!as_desired) co_return as_desired.error();
  if (!*as_desired) {
    kube::Duration wait = configuration_writes_.Take(names_.webhook_configuration);
    if (wait > kube::Duration::zero()) {
      next_of_gating_ = std::min(next_of_gating_.value_or(wait), wait);
      co_return Ok();
    }
    Result<> applied = co_await store_.Ensure(std::move(configuration), log);
    if (!applied) co_return applied.error();
  }
  health.webhook_configured = true;
  co_return Ok();
}

Async<ProviderState> ClusterReconciler::AskProvider(const Config& config, bool webhook,
                                                    const std::string& log) {
  const std::optional<api::Certificates>& certificates = config.spec.certificates;
  bool by_cert_manager = certificates && certificates->provider == kCertManager;
  if (!by_cert_manager && UsesCertManager(config.status)) {
    Result<> withdrawn = co_await provider_.WithdrawFromCertManager(log);
    if (!withdrawn) co_return withdrawn.error();
  }
  if (!ByProvider(certificates)) co_return ProviderState();
  co_return co_await provider_.Provide(*certificates, webhook, log);
}

Async<std::string> ClusterReconciler::EnsureCertificates(const Config& config,
                                                         const ProviderState& provider,
                                                         bool webhook, ClusterView& view,
                                                         const std::string& log) {
  bool by_provider = ByProvider(config.spec.certificates);
  bool known = certified_ && !by_provider && certified_->webhook == webhook &&
               view.operands.rolled_out() && clock_.Now() < certified_->due &&
               webhook_prober_.Of(kEverywhere) != Reach::kUnreachable;
  if (known) co_return certified_->ca_bundle_pem;
  certified_.reset();
  auto request_for = [&](const std::string& name) {
    CertificateRequest request{.log = log,
                               .authority = {options_.ns, std::string(kClusterAuthorityName)},
                               .serving = {options_.ns, name},
                               .dns_names = ServingNames(name, options_.ns),
                               .validity = options_.certificate_validity,
                               .labels = {},
                               .publish_authorities = true,
                               .by_provider = by_provider};
    auto provided = provider.usable.find(name);
    if (provided != provider.usable.end()) request.provided = provided->second;
    return request;
  };
  Result<IssuedCertificate> issued = IssuedCertificate{.provided = true};
  if (webhook) {
    CertificateRequest of_webhook = request_for(names_.webhook);
    of_webhook.bundles = {{kube::kMutatingWebhookConfigurations, names_.webhook_configuration}};
    issued = co_await EnsureCertificate(client_, clock_, std::move(of_webhook));
    if (!issued) co_return issued.error();
  }
  certificate_pending_ = issued->pending;
  certificate_renewed_ = certificate_renewed_ || issued->renewed;
  // For its metrics; the webhook has one certificate for both.
  CertificateRequest of_controller = request_for(names_.controller);
  Result<IssuedCertificate> for_metrics =
      co_await EnsureCertificate(client_, clock_, std::move(of_controller));
  if (!for_metrics) co_return for_metrics.error();
  if (!by_provider) {
    if (!issued->pending && !for_metrics->pending)
      certified_ = Certified{issued->ca_bundle_pem, webhook, clock_.Now() + timing_.resync};
    co_return issued->ca_bundle_pem;
  }

  // own_certificate.h withdraws the certificate of the operator's own webhooks.
  kube::ObjectKey own{options_.ns, std::string(api::kOperatorServiceName)};
  Result<kube::core::Secret> served = co_await kube::Get<kube::core::Secret>(client_, own);
  if (!served && !IsNotFound(served))
    co_return served.error().Prefix("read Secret " + own.ToString());
  auto provided = provider.usable.find(own.name);
  bool in_use = issued->provided && for_metrics->provided && provided != provider.usable.end() &&
                served && served->data().contains("tls.crt") &&
                served->data().at("tls.crt") == provided->second.serving.certificate_pem;
  view.certificates = provider.problem;
  if (!provider.problem && !in_use) {
    view.certificates = Problem{config.spec.certificates->provider + "Pending",
                                "the certificates are used once the API server trusts them"};
  } else if (!provider.problem) {
    view.certificates = Problem{config.spec.certificates->provider + "Ready", ""};
  }
  co_return issued->ca_bundle_pem;
}

Async<> ClusterReconciler::ApplyGlobalPullSecret(std::string secret, const std::string& log) {
  DesiredObjects objects = GlobalPullSecretRights(secret, options_);
  for (DesiredObject& object : objects) {
    if (!secret.empty()) {
      Result<> applied = co_await store_.Ensure(std::move(object), log);
      if (!applied) co_return applied.error();
    } else if (store_.Get(object.resource, object.Key())) {
      Result<> removed = co_await store_.Remove(object.resource, object.Key(), log);
      if (!removed) co_return removed.error();
    }
  }
  co_return Ok();
}

Async<bool> ClusterReconciler::ApplyTemplateRights(const Config& config, const std::string& log) {
  bool complete = true;
  DesiredObjects rights = TemplateRights(config.Templates(), config.DaemonSets(), options_);
  for (DesiredObject& object : rights) {
    std::string name = object.Key().name;
    Result<> applied = co_await ApplyTemplateRight(std::move(object), log);
    if (FailedWith(applied, kube::Code::kCancelled)) co_return applied.error();
    LOG_IF(WARNING, !applied) << log << " cannot apply the ClusterRoleBinding " << name << ": "
                              << applied.error();
    // What is refused, to this operator or because of a binding of another one, stays refused.
    bool refused = FailedWith(applied, kube::Code::kPermissionDenied) ||
                   FailedWith(applied, kube::Code::kInvalid);
    complete = complete && (applied || refused);
  }
  co_return complete;
}

Async<> ClusterReconciler::ApplyTemplateRight(DesiredObject object, const std::string& log) {
  std::string name = object.Key().name;
  if (object.wanted) {
    absent_rights_.erase(name);
    Result<> applied = co_await store_.Ensure(std::move(object), log);
    co_return applied;
  }
  if (absent_rights_.contains(name)) co_return Ok();
  // The kind is not watched. Only an administrator and this operator can create one.
  auto found = co_await kube::GetObject(client_, object.resource, object.Key());
  if (!found && !IsNotFound(found)) co_return found.error();
  if (found) {
    Result<> removed = co_await store_.Remove(object.resource, object.Key(), log);
    if (!removed) co_return removed.error();
  }
  absent_rights_.insert(std::move(name));
  co_return Ok();
}

Async<bool> ClusterReconciler::RemoveForeignOperands(const DesiredObjects& operands,
                                                     const std::string& log) {
  // The webhook configuration first: no pod may be gated for a controller that is about to be
  // deleted.
  std::vector<ObjectId> objects = {
      {kube::kMutatingWebhookConfigurations, {"", names_.webhook_configuration}}};
  for (const DesiredObject& object : operands) {
    bool merges_badly = object.resource.kind == kube::kDeployments.kind ||
                        object.resource.kind == kube::kServices.kind;
    if (merges_badly) objects.push_back(object.Id());
  }
  bool found = false;
  for (const ObjectId& object : objects) {
    Result<bool> removed = co_await store_.RemoveForeign(object, log);
    if (!removed) co_return removed.error();
    found = found || *removed;
  }
  co_return found;
}

TeardownScope ClusterReconciler::Scope(DesiredObjects operands, const std::string& log) const {
  for (DesiredObject& object : GlobalPullSecretRights("", options_))
    operands.push_back(std::move(object));
  std::vector<ObjectId> objects = InOrderOfRemoval(operands);
  std::vector<ObjectId> optional_objects;
  for (const DesiredObject& object : TemplateRights({}, {}, options_))
    optional_objects.push_back(object.Id());
  objects.push_back({kube::kSecrets, {options_.ns, names_.webhook}});
  objects.push_back({kube::kSecrets, {options_.ns, names_.controller}});
  // The probe of policies is removed by its own reconciler, which no teardown waits for.
  return {.log = log,
          .ns = kEverywhere,
          .gating = GatingIds(gating_policies_),
          .controller_available = Observe(store_, names_).controller.available,
          .choose_gates = ChooseGatesOfCluster,
          .objects = std::move(objects),
          .optional_objects = std::move(optional_objects),
          .authority = {options_.ns, std::string(kClusterAuthorityName)}};
}

}  // namespace operator_
