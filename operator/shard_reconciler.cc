// SPDX-License-Identifier: Apache-2.0
#include "operator/shard_reconciler.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "api/find_condition.h"
#include "api/label_selector.h"
#include "api/names.h"
#include "api/pointers.h"
#include "kube/types/kinds.h"
#include "operator/certificates/certificates.h"
#include "operator/objects/gating_policies.h"
#include "operator/objects/metadata.h"
#include "operator/objects/operand.h"
#include "operator/objects/rule_policy.h"
#include "operator/objects/shard_objects.h"
#include "operator/objects/template_mark.h"
#include "operator/objects/webhook_configurations.h"
#include "operator/probes/reach.h"
#include "operator/status/observe.h"
#include "operator/status/rollout.h"
#include "operator/status/status_events.h"
#include "operator/status/write_status.h"
#include "placement/gate.h"

namespace operator_ {
namespace {

using kube::Async;
using kube::Ok;
using kube::Outcome;
using kube::Result;
using kube::core::Pod;
using namespace std::chrono_literals;

// The shard removes the local gate alone; the cluster gate is the cluster controller's.
std::optional<std::vector<std::string>> ChooseGatesOfShard(const Pod& pod, TeardownPhase phase) {
  if (!placement::HasGate(pod, api::kLocalGate)) return std::nullopt;
  std::vector<std::string> gates;
  if (phase != TeardownPhase::kDraining) gates.emplace_back(api::kLocalGate);
  return gates;
}

OperandNames NamesIn(const std::string& ns) {
  return {.ns = ns,
          .controller = std::string(api::kShardControllerName),
          .webhook = std::string(api::kShardWebhookName),
          .webhook_configuration = api::ShardWebhookConfigurationName(ns)};
}

bool IsDeployment(const DesiredObject& object) {
  return object.resource.kind == kube::kDeployments.kind;
}

bool IsOfWebhook(const DesiredObject& object) {
  return object.Key().name == api::kShardWebhookName;
}

bool SaysUnreachable(const api::PodPlacementConfig& config) {
  const api::Condition* available = api::FindCondition(config.status.conditions, api::kAvailable);
  return available != nullptr && available->reason == kWebhookUnreachable;
}

bool IsDegraded(const api::PodPlacementConfig& config) {
  return api::IsTrue(config.status.conditions, api::kDegraded);
}

// The names of those that the policy gates for.
std::set<std::string> GatedByPolicy(const std::vector<api::PodPlacementConfig>& configs) {
  std::set<std::string> names;
  for (const api::PodPlacementConfig& config : configs) {
    if (config.status.gated_by == api::kGatedByPolicy) names.insert(config.metadata().name());
  }
  return names;
}

bool HaveRules(const api::PodPlacementConfigs& in_force) {
  return std::any_of(in_force.begin(), in_force.end(), [](const api::PodPlacementConfig* config) {
    return !config->Rules().empty();
  });
}

}  // namespace

ShardReconciler::ShardReconciler(kube::Client& client, kube::Clock& clock, OperandOptions options,
                                 const ConfigStore& configs, const Namespaces& namespaces,
                                 OperandStore& store, GatingPolicyProber& prober,
                                 WebhookProber& webhook_prober, UpgradeQueue& upgrades,
                                 kube::EventRecorder& events, ShardTiming timing)
    : client_(client),
      clock_(clock),
      options_(std::move(options)),
      configs_(configs),
      namespaces_(namespaces),
      store_(store),
      prober_(prober),
      webhook_prober_(webhook_prober),
      upgrades_(upgrades),
      events_(events),
      timing_(timing),
      teardown_(client, clock, store, events, timing.teardown),
      rule_checks_(client) {
  timing_.resync = std::min<std::chrono::milliseconds>(
      timing_.resync, CheckPeriodOf(options_.certificate_validity));
}

void ShardReconciler::Know(const std::vector<kube::core::Secret>& authorities) {
  kube::Duration within = std::min<kube::Duration>(kFirstCheck, timing_.resync);
  // Spread, so that the checks cause no burst either.
  kube::Duration step = within / static_cast<int64_t>(authorities.size() + 1);
  kube::TimePoint due = clock_.Now();
  for (const kube::core::Secret& authority : authorities) {
    due += step;
    auto label = authority.metadata().labels().find(std::string(kShardNamespaceLabel));
    if (label == authority.metadata().labels().end()) continue;
    const std::string& ns = label->second;
    if (authority.metadata().name() != ShardAuthorityName(ns)) continue;
    std::string bundle = CaBundleOf(authority, clock_.WallNow());
    if (!bundle.empty()) bundles_[ns] = {.ca_pem = std::move(bundle), .due = due};
  }
}

Async<Outcome> ShardReconciler::Reconcile(kube::Request request) {
  std::string ns = request.key.name;
  ConfigList configs = configs_.In(ns);
  std::optional<api::ClusterPodPlacementConfig> cluster = configs_.Cluster();

  ShardView view;
  if (IsReservedNamespace(ns, options_)) {
    view.none = NoShard::kReservedNamespace;
  } else if (!cluster) {
    view.none = NoShard::kNoClusterConfig;
  } else if (!configs->empty()) {
    const std::optional<kube::meta::LabelSelector>& selector = cluster->spec.namespace_selector;
    std::optional<bool> selected = namespaces_.Selects(selector, ns);
    // The watch event of the namespace starts the next reconcile.
    if (!selected) co_return Outcome::Done();
    if (!*selected) {
      view.none = NoShard::kNamespaceNotSelected;
      view.opted_out = namespaces_.OptsOut(ns);
      view.excluded = options_.excluded_namespaces.Names(ns);
      if (selector) view.selector = kube::DumpJson(api::LabelSelectorToJson(*selector));
    }
  }
  if (configs->empty() || view.none)
    co_return co_await Deprovision(std::move(ns), std::move(configs), std::move(view), request.log);
  teardown_.Cancel(ns);
  co_return co_await Provision(std::move(ns), std::move(configs), std::move(cluster->spec),
                               request.log);
}

Async<Outcome> ShardReconciler::Provision(std::string ns, ConfigList configs,
                                          api::ClusterPodPlacementConfigSpec cluster,
                                          const std::string& log) {
  Attempt attempt;
  ShardView& view = attempt.view;
  Result<> applied = co_await ApplyShard(ns, configs, cluster, attempt, log);
  if (!applied && applied.error().HasCause("NamespaceTerminating")) {
    upgrades_.Forget(ns);
    unavailable_since_.erase(ns);
    co_return Outcome::Done();  // the namespace is being deleted: its PodPlacementConfigs go next
  }
  OperandNames names = NamesIn(ns);
  Result<> found =
      co_await FindProblem(client_, std::move(names), applied, attempt.look_at_pods, view.operands);
  ShardSeen& seen = attempt.seen;
  if (attempt.upgraded) {
    seen = {.rolling_out = true, .ran_before = view.operands.available()};
    Record(configs, kShardUpgraded,
           "the Deployments of the namespace's controller and webhook were updated");
  } else {
    seen.runs = view.operands.rolled_out();
    seen.problem = view.operands.problem;
  }
  // This does not need the reason why the shard does not run: the upgrade waits for no single
  // namespace.
  upgrades_.See(ns, seen);
  if (!found) co_return found.error();
  if (view.operands.webhook_configured) {
    bool says = std::any_of(configs->begin(), configs->end(), SaysUnreachable);
    SetReach(NamesIn(ns), ReachOf(webhook_prober_.Of(ns), says), view.operands);
  }
  kube::Duration next = view.operands.complete() ? timing_.resync : timing_.recheck;
  if (auto bundle = bundles_.find(ns); bundle != bundles_.end()) {
    next = std::clamp<kube::Duration>(bundle->second.due - clock_.Now(), 0s, next);
    if (std::exchange(bundle->second.renewed, false))
      Record(configs, kCertificateRenewed,
             "the certificate of the namespace's webhook was renewed");
  }
  if (attempt.next_of_gating) next = std::min(next, *attempt.next_of_gating);
  Result<> written = co_await WriteStatuses(std::move(configs), std::move(view));
  if (!applied) co_return applied.error();
  if (!written) co_return written.error();
  co_return Outcome::After(std::chrono::ceil<std::chrono::milliseconds>(next));
}

Async<Outcome> ShardReconciler::Deprovision(std::string ns, ConfigList configs, ShardView view,
                                            const std::string& log) {
  upgrades_.Forget(ns);
  unavailable_since_.erase(ns);
  rule_checks_.Forget(ns);
  webhook_prober_.Forget(ns);
  gating_of_.erase(ns);
  if (!GatedByPolicy(*configs).empty()) {
    view.teardown = "the API server may still gate pods";
    ConfigList ungated = configs;
    ShardView ungating = view;
    Result<> stopped = co_await WriteStatuses(std::move(ungated), std::move(ungating));
    if (!stopped) co_return stopped.error();
  }
  TeardownScope scope = Scope(ns, log);
  bool was_running = teardown_.IsRunning(ns);
  Result<Outcome> outcome = co_await teardown_.Run(std::move(scope));
  if (outcome && *outcome == Outcome::Done()) {
    bundles_.erase(ns);
    // Existing configs report it in their status.
    if (was_running && configs->empty())
      Record(configs, kShardRemoved, "the shard of namespace " + ns + " was removed");
  }
  view.teardown = teardown_.WaitsFor(ns);
  Result<> written = co_await WriteStatuses(std::move(configs), std::move(view));
  if (!outcome) co_return outcome.error();
  if (!written) co_return written.error();
  co_return *outcome;
}

Async<> ShardReconciler::ApplyShard(const std::string& ns, const ConfigList& configs,
                                    const api::ClusterPodPlacementConfigSpec& cluster,
                                    Attempt& attempt, const std::string& log) {
  OperandHealth& health = attempt.view.operands;
  health = Observe(store_, NamesIn(ns));
  api::PodPlacementConfigs in_force = api::InForce(api::Pointers(*configs));
  Result<> rules = co_await ApplyRules(ns, in_force, attempt.view, log);
  DesiredObjects objects = ShardObjects(ns, cluster, options_);
  bool by_policy = cluster.gating == api::kGatingByPolicy;
  attempt.view.rules_need_webhook = by_policy && HaveRules(in_force);
  GatingObjects gating = GatingOf(ns, *configs, in_force, objects, cluster, attempt.view);
  GatingPlan plan = gating_of_[ns].Plan(gating, store_, prober_, clock_.Now(), health);
  attempt.next_of_gating = plan.next;
  attempt.view.gate_by_policy = plan.policies == GatingAction::kWrite;
  if (plan.webhook != GatingAction::kWrite) std::erase_if(objects, IsOfWebhook);
  ShardSeen& seen = attempt.seen = MarkTemplates(objects, health);
  seen.refused = seen.outdated;
  Diagnose(ns, configs, attempt);
  std::string ca_bundle;
  if (plan.webhook == GatingAction::kWrite) {
    Result<std::string> certified = co_await CaBundle(ns, attempt.check_certificate, log);
    if (!certified) co_return certified.error();
    ca_bundle = std::move(*certified);
  } else {
    // One that is due, and is not read again, would start one reconcile after the other.
    bundles_.erase(ns);
  }
  bool wait = seen.outdated && !upgrades_.TakeTurn(ns);
  attempt.view.waits_for_upgrade = wait;
  for (DesiredObject& object : objects) {
    if (wait && IsDeployment(object)) continue;
    Rollout& rollout = IsOfWebhook(object) ? health.webhook : health.controller;
    std::optional<Rollout> desired;
    if (IsDeployment(object) && !rollout.exists) desired = RolloutOf(&object.body);
    Result<> applied = co_await store_.Ensure(std::move(object), log);
    if (!applied) co_return applied.error();
    // The watch shows a new Deployment later; the first status has it already.
    if (desired) rollout = std::move(*desired);
  }
  seen.refused = false;
  attempt.upgraded = seen.outdated && !wait;
  // Gating depends on the rules.
  if (!rules) co_return rules.error();
  co_return co_await ApplyGating(ns, in_force, cluster, std::move(gating), plan,
                                 std::move(ca_bundle), attempt, log);
}

GatingObjects ShardReconciler::GatingOf(const std::string& ns,
                                        const std::vector<api::PodPlacementConfig>& configs,
                                        const api::PodPlacementConfigs& in_force,
                                        const DesiredObjects& objects,
                                        const api::ClusterPodPlacementConfigSpec& cluster,
                                        const ShardView& view) const {
  OperandNames names = NamesIn(ns);
  GatingObjects gating{
      .scope = ns,
      .by_policy = cluster.gating == api::kGatingByPolicy && !view.rules_need_webhook,
      .policies = {},
      .stored_policies = {},
      .wanted_configs = {},
      .gated_configs = GatedByPolicy(configs),
      .configuration = {kube::kMutatingWebhookConfigurations, {"", names.webhook_configuration}},
      .webhook = {}};
  // Most clusters have no policies and want none.
  if (!gating.by_policy && gating.gated_configs.empty()) return gating;
  gating.policies = LocalGatingPolicy(cluster.excluded_scheduler_names, options_);
  for (const api::PodPlacementConfig* config : in_force) {
    if (!config->Preferences().empty()) gating.wanted_configs.insert(config->metadata().name());
  }
  gating.webhook = OfWebhook(objects, names.webhook);
  const ObjectId secrets[] = {{kube::kSecrets, {ns, names.webhook}},
                              {kube::kSecrets, {options_.ns, ShardAuthorityName(ns)}}};
  gating.webhook.insert(gating.webhook.begin(), std::begin(secrets), std::end(secrets));
  return gating;
}

Async<> ShardReconciler::ApplyGating(const std::string& ns,
                                     const api::PodPlacementConfigs& in_force,
                                     const api::ClusterPodPlacementConfigSpec& cluster,
                                     GatingObjects objects, GatingPlan plan, std::string ca_bundle,
                                     Attempt& attempt, const std::string& log) {
  OperandHealth& health = attempt.view.operands;
  Result<> gated =
      co_await gating_of_[ns].Apply(std::move(objects), plan, store_, prober_, health, log);
  if (!gated) co_return gated.error();
  if (plan.configuration != GatingAction::kWrite) {
    webhook_prober_.See(ns, health.webhook_configured, /*ready=*/false);
    co_return Ok();
  }
  DesiredObject configuration{
      kube::kMutatingWebhookConfigurations,
      ShardWebhookConfiguration(ns, in_force, attempt.view.left_out_rules,
                                cluster.excluded_scheduler_names, ca_bundle, options_)};
  bool gates = !configuration.body["webhooks"].empty();
  Result<> applied = co_await store_.Ensure(std::move(configuration), log);
  if (!applied) co_return applied.error();
  health.webhook_configured = true;
  webhook_prober_.See(ns, gates, health.webhook.complete && !attempt.seen.outdated);
  co_return Ok();
}

Async<> ShardReconciler::ApplyRules(const std::string& ns, const api::PodPlacementConfigs& in_force,
                                    ShardView& view, const std::string& log) {
  Result<LeftOutRulesOf> left_out = co_await rule_checks_.LeftOut(ns, in_force);
  if (!left_out) co_return left_out.error();
  view.left_out_rules = std::move(*left_out);
  DesiredObjects rule_policy = RulePolicy(ns, in_force, view.left_out_rules, options_);
  for (DesiredObject& object : rule_policy) {
    Result<> applied = co_await store_.Ensure(std::move(object), log);
    if (!applied) co_return applied.error();
  }
  co_return Ok();
}

ShardSeen ShardReconciler::MarkTemplates(DesiredObjects& objects, const OperandHealth& health) {
  using Replaced = TemplateMark::Replaced;
  ShardSeen seen;
  for (DesiredObject& object : objects) {
    if (!IsDeployment(object)) continue;
    const Rollout& current = IsOfWebhook(object) ? health.webhook : health.controller;
    if (MarkTemplate(object.body, current.exists, current.mark, health.available())) {
      seen.outdated = true;
    } else if (current.mark && !current.complete) {
      seen.rolling_out = seen.rolling_out || current.mark->replaced != Replaced::kNothing;
      seen.ran_before = seen.ran_before || current.mark->replaced == Replaced::kRunning;
    }
  }
  return seen;
}

void ShardReconciler::Diagnose(const std::string& ns, const ConfigList& configs, Attempt& attempt) {
  const OperandHealth& health = attempt.view.operands;
  if (health.available()) {
    unavailable_since_.erase(ns);
    attempt.check_certificate = webhook_prober_.Of(ns) == Reach::kUnreachable;
    return;
  }
  auto [since, first] = unavailable_since_.try_emplace(ns, clock_.Now());
  // A restarted operator does not take back what the status says.
  bool degraded = std::any_of(configs->begin(), configs->end(), IsDegraded);
  attempt.look_at_pods = degraded || clock_.Now() - since->second >= timing_.recheck;
  attempt.check_certificate = !health.webhook.available && (first || attempt.look_at_pods);
}

Async<std::string> ShardReconciler::CaBundle(std::string ns, bool refresh, const std::string& log) {
  auto known = bundles_.find(ns);
  if (!refresh && known != bundles_.end() && clock_.Now() < known->second.due)
    co_return known->second.ca_pem;
  std::string webhook(api::kShardWebhookName);
  std::string configuration = api::ShardWebhookConfigurationName(ns);
  kube::ObjectKey configuration_key{"", configuration};
  bool is_new = known == bundles_.end() &&
                !store_.Get(kube::kMutatingWebhookConfigurations, configuration_key);
  CertificateRequest request{
      .log = log,
      .authority = {options_.ns, ShardAuthorityName(ns)},
      .serving = {ns, webhook},
      .dns_names = {ServiceDnsName(webhook, ns)},
      .expect_none = is_new,
      .validity = options_.certificate_validity,
      .labels = {{std::string(kShardNamespaceLabel), ns}},
      .serving_owner = OwnNamespace(options_),
      .bundles = {{kube::kMutatingWebhookConfigurations, configuration}},
  };
  Result<IssuedCertificate> issued =
      co_await EnsureCertificate(client_, clock_, std::move(request));
  if (!issued) co_return issued.error();
  kube::TimePoint due = clock_.Now() + (issued->pending ? timing_.recheck : timing_.resync);
  bundles_[ns] = {issued->ca_bundle_pem, due, issued->renewed};
  co_return issued->ca_bundle_pem;
}

Async<> ShardReconciler::WriteStatuses(ConfigList configs, ShardView view) {
  api::PodPlacementConfigs all = api::Pointers(*configs);
  for (const api::PodPlacementConfig& config : *configs) {
    const api::PodPlacementConfig* holder = api::PriorityHolder(config, all);
    auto status = ShardStatus(config, view, holder, clock_.WallNow());
    Result<> written = co_await WriteStatus(client_, config, status);
    if (!written) co_return written.error();
    for (StatusEvent& event : EventsOf(config.status, status)) {
      events_.Record(kube::ReferenceTo(config), event.warning, event.reason,
                     std::move(event.message));
    }
  }
  co_return Ok();
}

void ShardReconciler::Record(const ConfigList& configs, std::string_view reason,
                             const std::string& message) {
  for (const api::PodPlacementConfig& config : *configs)
    events_.Record(kube::ReferenceTo(config), /*warning=*/false, reason, message);
  std::optional<api::ClusterPodPlacementConfig> cluster = configs_.Cluster();
  if (configs->empty() && cluster)
    events_.Record(kube::ReferenceTo(*cluster), /*warning=*/false, reason, message);
}

TeardownScope ShardReconciler::Scope(const std::string& ns, const std::string& log) const {
  OperandNames names = NamesIn(ns);
  std::vector<ObjectId> objects = InOrderOfRemoval(ShardObjects(ns, {}, options_));
  // The shard created its Lease. The last object is one that is watched: without an authority, it
  // shows that the teardown is not complete.
  ObjectId lease{kube::kLeases, {ns, names.controller}};
  const ObjectId unwatched[] = {lease, {kube::kSecrets, {ns, names.webhook}}};
  objects.insert(objects.end() - 1, std::begin(unwatched), std::end(unwatched));
  for (ObjectId& object : InOrderOfRemoval(RulePolicy(ns, {}, {}, options_))) {
    // Most namespaces have no rules.
    if (store_.Get(object.resource, object.key)) objects.push_back(std::move(object));
  }
  return {.log = log,
          .ns = ns,
          .gating = {{kube::kMutatingWebhookConfigurations, {"", names.webhook_configuration}}},
          .controller_available = Observe(store_, names).controller.available,
          .choose_gates = ChooseGatesOfShard,
          .objects = std::move(objects),
          .pods = PodsOf(names.controller),
          .created_by_pods = {std::move(lease)},
          .authority = {options_.ns, ShardAuthorityName(ns)}};
}

}  // namespace operator_
