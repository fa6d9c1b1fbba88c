// SPDX-License-Identifier: Apache-2.0
// ShardReconciler: brings one namespace to what its PodPlacementConfigs ask for. A request's key is
// {"", NAMESPACE}.
//
// With a PodPlacementConfig, and a ClusterPodPlacementConfig that selects the namespace:
// certificate, permissions, controller, webhook; the webhook configuration once both are available,
// so that no pod waits for a shard that never ran, or policies in place of both (gating/); with
// rules, the policy that evaluates them (objects/rule_policy.h), whether the shard runs or not. A
// change that restarts the pods of an existing shard waits for its turn (upgrade_queue.h);
// everything else is applied at once. Without: the shard is torn down (teardown/teardown.h); pods
// that the teardown leaves gated are released by the cluster controller. A namespace that is being
// deleted, or is deleted, loses its PodPlacementConfigs and is torn down the same way; no object of
// the operator blocks its deletion.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "api/validation.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/controller/event_recorder.h"
#include "kube/controller/reconciler.h"
#include "kube/types/core.pb.h"
#include "operator/config_store.h"
#include "operator/gating/gating_policy_prober.h"
#include "operator/gating/scope_gating.h"
#include "operator/namespaces.h"
#include "operator/objects/desired_object.h"
#include "operator/objects/operand_store.h"
#include "operator/objects/options.h"
#include "operator/probes/webhook_prober.h"
#include "operator/rules/rule_check.h"
#include "operator/status/shard_status.h"
#include "operator/teardown/teardown.h"
#include "operator/upgrade_queue.h"

namespace operator_ {

struct ShardTiming {
  TeardownTiming teardown{.drain = std::chrono::seconds(10)};
  // Between two reconciles of a shard that is not rolled out; changes of its Deployments are
  // watched.
  std::chrono::milliseconds recheck{10'000};
  // Between two reconciles of a shard that is rolled out, for its certificate.
  std::chrono::milliseconds resync{3'600'000};
};

// How long after its start an operator has checked the certificates of all shards that run.
inline constexpr std::chrono::minutes kFirstCheck{5};

class ShardReconciler final : public kube::Reconciler {
 public:
  // Everything but `options` and `timing` outlives this.
  ShardReconciler(kube::Client& client, kube::Clock& clock, OperandOptions options,
                  const ConfigStore& configs, const Namespaces& namespaces, OperandStore& store,
                  GatingPolicyProber& prober, WebhookProber& webhook_prober, UpgradeQueue& upgrades,
                  kube::EventRecorder& events, ShardTiming timing = {});

  // Before the first reconcile: the Secrets of all authorities, as they were just read. This saves
  // a new leader two reads for each namespace; the serving certificates are checked within
  // kFirstCheck.
  void Know(const std::vector<kube::core::Secret>& authorities);

  // Reconciler
  kube::Async<kube::Outcome> Reconcile(kube::Request request) override;

 private:
  // Below, `log` is Request::log.
  struct Bundle {
    std::string ca_pem;
    // When to read the Secrets next: soon if a new serving certificate waits until the API server
    // trusts its authority (certificates.h).
    kube::TimePoint due;
    // It has replaced another one; the events about it are not recorded yet.
    bool renewed = false;
  };
  // Shared with the cache, as they may be large.
  using ConfigList = ConfigStore::Configs;
  // One attempt to apply the shard's objects.
  struct Attempt {
    ShardView view;
    // When the next step of a switch of the gating is due.
    std::optional<kube::Duration> next_of_gating;
    // Whether the serving certificate may be the reason that the webhook is not available, or that
    // calls do not reach it.
    bool check_certificate = false;
    // Whether the pods may show why the shard is not available.
    bool look_at_pods = false;
    // As before the attempt.
    ShardSeen seen;
    // Newer pod templates were applied.
    bool upgraded = false;
  };

  kube::Async<kube::Outcome> Provision(std::string ns, ConfigList configs,
                                       api::ClusterPodPlacementConfigSpec cluster,
                                       const std::string& log);
  // `view` says why `configs` have no shard.
  kube::Async<kube::Outcome> Deprovision(std::string ns, ConfigList configs, ShardView view,
                                         const std::string& log);
  // `attempt` is valid after an error, too.
  kube::Async<> ApplyShard(const std::string& ns, const ConfigList& configs,
                           const api::ClusterPodPlacementConfigSpec& cluster, Attempt& attempt,
                           const std::string& log);
  // What can gate pods of `ns`. `in_force`, here and below: of its `configs`. `objects`: of its
  // shard; `view` says whether its rules need a webhook.
  GatingObjects GatingOf(const std::string& ns, const std::vector<api::PodPlacementConfig>& configs,
                         const api::PodPlacementConfigs& in_force, const DesiredObjects& objects,
                         const api::ClusterPodPlacementConfigSpec& cluster,
                         const ShardView& view) const;
  // Writes and removes what gates pods, except the webhook.
  kube::Async<> ApplyGating(const std::string& ns, const api::PodPlacementConfigs& in_force,
                            const api::ClusterPodPlacementConfigSpec& cluster,
                            GatingObjects objects, GatingPlan plan, std::string ca_bundle,
                            Attempt& attempt, const std::string& log);
  // Writes or removes the policy that evaluates rules. Sets ShardView::left_out_rules.
  kube::Async<> ApplyRules(const std::string& ns, const api::PodPlacementConfigs& in_force,
                           ShardView& view, const std::string& log);
  // Sets the template marks of the Deployments in `objects`. Returns: the shard as its Deployments
  // in the cluster show it.
  static ShardSeen MarkTemplates(DesiredObjects& objects, const OperandHealth& health);
  // Sets what to look at in a shard that is not available: nothing while it starts.
  void Diagnose(const std::string& ns, const ConfigList& configs, Attempt& attempt);
  // The CA bundle of the webhook of `ns`. Reads the Secrets if that is due, or `refresh`.
  kube::Async<std::string> CaBundle(std::string ns, bool refresh, const std::string& log);
  kube::Async<> WriteStatuses(ConfigList configs, ShardView view);
  // About each of `configs`; without any, about the ClusterPodPlacementConfig.
  void Record(const ConfigList& configs, std::string_view reason, const std::string& message);
  TeardownScope Scope(const std::string& ns, const std::string& log) const;

  kube::Client& client_;
  kube::Clock& clock_;
  OperandOptions options_;
  const ConfigStore& configs_;
  const Namespaces& namespaces_;
  OperandStore& store_;
  GatingPolicyProber& prober_;
  WebhookProber& webhook_prober_;
  UpgradeQueue& upgrades_;
  kube::EventRecorder& events_;
  ShardTiming timing_;
  Teardown teardown_;
  RuleChecks rule_checks_;
  // All by namespace.
  std::map<std::string, Bundle> bundles_;
  std::map<std::string, ScopeGating> gating_of_;
  // Since when its shard is not available; without those that are.
  std::map<std::string, kube::TimePoint> unavailable_since_;
};

}  // namespace operator_
