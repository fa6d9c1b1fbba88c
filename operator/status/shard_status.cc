// SPDX-License-Identifier: Apache-2.0
#include "operator/status/shard_status.h"

#include "api/excluded_namespaces.h"
#include "api/names.h"
#include "kube/base/utf8.h"
#include "operator/probes/reach.h"
#include "operator/status/remedies.h"
#include "operator/status/upgrade_progress.h"

namespace operator_ {
namespace {

// Caches keep a status of up to 16 KiB (watches/config_cache.cc).
constexpr size_t kMaxMessageBytes = 4 * 1024;

struct Verdict {
  bool status;
  std::string reason;
  std::string message;
};

Verdict AvailableOf(const ShardView& shard, const api::PodPlacementConfig* priority_holder) {
  if (shard.none == NoShard::kNoClusterConfig) {
    return {false, "ClusterPodPlacementConfigMissing",
            "there is no ClusterPodPlacementConfig \"cluster\""};
  }
  if (shard.none == NoShard::kReservedNamespace) {
    return {false, "ReservedNamespace", "pods of this namespace are never gated"};
  }
  if (shard.none == NoShard::kNamespaceNotSelected && shard.opted_out) {
    return {false, "NamespaceNotSelected",
            "this namespace has the label " + std::string(api::kExcludeLabel) +
                ": its pods are not placed by architecture"};
  }
  if (shard.none == NoShard::kNamespaceNotSelected && shard.excluded) {
    std::string selector = shard.selector.empty() ? ""
                                                  : ", and match the namespaceSelector of "
                                                    "ClusterPodPlacementConfig \"cluster\", " +
                                                        shard.selector;
    return {false, "NamespaceNotSelected",
            "pods of a namespace of the platform are placed only if it is labelled for it: this "
            "namespace must have the label " +
                std::string(api::kIncludeLabel) + selector};
  }
  if (shard.none == NoShard::kNamespaceNotSelected) {
    return {false, "NamespaceNotSelected",
            "the labels of this namespace do not match the namespaceSelector of "
            "ClusterPodPlacementConfig \"cluster\", " +
                shard.selector + "; change the labels of the namespace or that selector"};
  }
  if (priority_holder != nullptr) {
    return {false, "PriorityConflict", "this config is not applied, see Degraded"};
  }
  if (!shard.operands.controller.available)
    return {false, "ControllerNotAvailable", "the namespace's controller is not available"};
  if (shard.operands.gating_policies_configured) {
    return {true, "AsExpected",
            "the controller of this namespace is available, and policies gate the pods"};
  }
  if (shard.operands.by_policy && !shard.operands.works()) {
    return {false, "PoliciesNotConfigured",
            "the policies that gate pods of this namespace are not written yet"};
  }
  if (!shard.operands.webhook.available)
    return {false, "WebhookNotAvailable", "the namespace's webhook is not available"};
  if (!shard.operands.webhook_configured) {
    return {false, "WebhookNotConfigured",
            "the API server does not call the namespace's webhook yet"};
  }
  if (shard.operands.reach == Reach::kUnreachable) {
    return {false, std::string(kWebhookUnreachable),
            "the API server cannot call the namespace's webhook; the cluster controller applies "
            "this config to new pods"};
  }
  return {true, "AsExpected",
          std::string("controller and webhook of this namespace are available") +
              (shard.rules_need_webhook
                   ? "; a webhook gates the pods although spec.gating of the "
                     "ClusterPodPlacementConfig is Policy, because a PodPlacementConfig of this "
                     "namespace has celRules"
                   : "")};
}

std::string Shortened(std::string message) {
  if (message.size() <= kMaxMessageBytes) return message;
  constexpr std::string_view kMore = "...";
  message.resize(kube::CutUtf8(message, kMaxMessageBytes - kMore.size()).size());
  return message.append(kMore);
}

// "a, b"
std::string FinalizersOf(const api::PodPlacementConfig& config) {
  std::string names;
  for (const std::string& name : config.metadata().finalizers())
    names += (names.empty() ? "" : ", ") + name;
  return names;
}

Verdict ProgressingOf(const api::PodPlacementConfig& config, const ShardView& shard) {
  if (config.metadata().has_deletion_timestamp()) {
    return {true, "DeletionHeld",
            "the config stays in force until its finalizers are removed, none of which is the "
            "operator's: " +
                FinalizersOf(config)};
  }
  if (shard.none && !shard.teardown.empty()) return {true, "Deprovisioning", shard.teardown};
  if (shard.none) return {false, "NoShard", "this namespace has no shard"};
  if (shard.waits_for_upgrade) {
    return {true, "UpgradeWaiting",
            "the shard waits for its turn to be upgraded; condition " +
                std::string(kShardsUpToDate) +
                " of ClusterPodPlacementConfig \"cluster\" shows the progress"};
  }
  if (!shard.operands.controller.complete)
    return {true, "RollingOut", "the namespace's controller is being rolled out"};
  bool by_policy = shard.operands.by_policy;
  if (!by_policy && !shard.operands.webhook.complete)
    return {true, "RollingOut", "the namespace's webhook is being rolled out"};
  if (!shard.operands.configured()) {
    return {true, "RollingOut",
            by_policy ? "the policies are being written"
                      : "the webhook configuration is being written"};
  }
  if (shard.operands.switching) {
    return {true, "SwitchingGating",
            by_policy ? "policies take over from the namespace's webhook"
                      : "the namespace's webhook takes over from policies"};
  }
  return {false, "AsExpected",
          by_policy ? "the controller is rolled out" : "controller and webhook are rolled out"};
}

Verdict DegradedOf(const api::PodPlacementConfig& config, const ShardView& shard,
                   const api::PodPlacementConfig* priority_holder) {
  if (!config.problems.empty()) {
    return {true, config.too_large ? "TooLarge" : "InvalidSpec", api::Describe(config.problems)};
  }
  if (priority_holder != nullptr) {
    return {true, "PriorityConflict",
            "PodPlacementConfig " + priority_holder->metadata().name() +
                " is older and has the same priority " + std::to_string(config.spec.priority) +
                ", so this one is not applied; change the priority of one of them"};
  }
  if (shard.operands.problem)
    return {true, shard.operands.problem->reason, WithRemedy(*shard.operands.problem)};
  auto left_out = shard.left_out_rules.find(config.metadata().name());
  if (left_out != shard.left_out_rules.end()) {
    return {true, "RulesNotApplied",
            WithRemedy({"RulesNotApplied", api::Describe(ErrorsOf(left_out->second))})};
  }
  return {false, "AsExpected", "no problem is known"};
}

std::string_view GatedBy(const api::PodPlacementConfig& config, const ShardView& shard,
                         const api::PodPlacementConfig* priority_holder) {
  if (shard.none || priority_holder != nullptr || !config.MayPrefer()) return api::kGatedByNothing;
  bool by_policy = shard.gate_by_policy.value_or(config.status.gated_by == api::kGatedByPolicy);
  if (by_policy && !config.Preferences().empty()) return api::kGatedByPolicy;
  return shard.operands.webhook_configured ? api::kGatedByWebhook : api::kGatedByNothing;
}

}  // namespace

api::PodPlacementConfigStatus ShardStatus(const api::PodPlacementConfig& config,
                                          const ShardView& shard,
                                          const api::PodPlacementConfig* priority_holder,
                                          kube::WallTime now) {
  api::PodPlacementConfigStatus status = config.status;
  int64_t generation = config.metadata().generation();
  auto set = [&](std::string_view type, Verdict verdict) {
    api::SetCondition(status.conditions,
                      {.type = std::string(type),
                       .status = verdict.status ? "True" : "False",
                       .reason = std::move(verdict.reason),
                       .message = Shortened(std::move(verdict.message)),
                       .observed_generation = generation},
                      now);
  };
  set(api::kAvailable, AvailableOf(shard, priority_holder));
  set(api::kProgressing, ProgressingOf(config, shard));
  set(api::kDegraded, DegradedOf(config, shard, priority_holder));
  status.observed_generation = generation;
  status.gated_by = GatedBy(config, shard, priority_holder);

  status.controllers.clear();
  auto add = [&](std::string_view name, const char* kind, const Rollout& rollout) {
    if (!rollout.exists) return;
    status.controllers.push_back({.name = std::string(name),
                                  .kind = kind,
                                  .replicas = rollout.replicas,
                                  .ready_replicas = rollout.ready_replicas,
                                  .version = rollout.version});
  };
  if (!shard.none) {
    add(api::kShardControllerName, "Controller", shard.operands.controller);
    add(api::kShardWebhookName, "Webhook", shard.operands.webhook);
  }
  return status;
}

}  // namespace operator_
