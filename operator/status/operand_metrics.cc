// SPDX-License-Identifier: Apache-2.0
#include "operator/status/operand_metrics.h"

#include <string_view>
#include <utility>

#include "api/names.h"
#include "operator/status/observe.h"

namespace operator_ {

OperandMetrics::OperandMetrics(kube::Metrics& metrics, std::string ns) : ns_(std::move(ns)) {
  metrics.AddComputedGauge("mto_ppo_operand_unavailable",
                           "1 for each operand whose Deployment has no available replica",
                           [this] { return Unavailable(); });
  metrics.AddComputedGauge("mto_ppo_webhook_unreachable",
                           "1 for each webhook whose pods are ready, and that calls of the API "
                           "server do not reach; 0 for the cluster's if they do",
                           [this] { return Unreachable(); });
  // A gauge with one series, while this replica leads.
  auto add = [&](const char* name, const char* help, auto value) {
    metrics.AddComputedGauge(name, help, [this, value]() -> kube::Metrics::Series {
      if (store_ == nullptr) return {};
      return {{{}, static_cast<double>(value())}};
    });
  };
  add("mto_ppo_shards", "Namespaces with a shard",
      [this] { return store_->ShardNamespaces().size(); });
  add("mto_ppo_configs_left_out", "PodPlacementConfigs that are over a budget and not in force",
      [this] { return sources_.left_out(); });
  add("mto_ppo_shards_outdated", "Namespaces whose shard waits for its turn to be upgraded",
      [this] { return sources_.upgrade().outdated; });
  add("mto_ppo_shards_upgrade_failed",
      "Namespaces whose shard could not be upgraded, or does not run since its upgrade",
      [this] { return sources_.upgrade().failed.size(); });
  add("mto_ppo_shard_upgrade_stopped",
      "The same while so many failed that the upgrade is stopped, else 0", [this] {
        UpgradeProgress progress = sources_.upgrade();
        return progress.stopped ? progress.failed.size() : 0;
      });
}

kube::Metrics::Series OperandMetrics::Unreachable() const {
  kube::Metrics::Series series;
  if (store_ == nullptr) return series;
  auto add = [&](std::string_view operand, const std::string& ns, double value) {
    series.push_back({{{"operand", std::string(operand)}, {"operand_namespace", ns}}, value});
  };
  if (sources_.cluster_reach() == Reach::kReached) add(api::kWebhookName, ns_, 0);
  for (const std::string& ns : sources_.unreachable()) {
    bool cluster = ns.empty();
    add(cluster ? api::kWebhookName : api::kShardWebhookName, cluster ? ns_ : ns, 1);
  }
  return series;
}

kube::Metrics::Series OperandMetrics::Unavailable() const {
  kube::Metrics::Series series;
  if (store_ == nullptr) return series;
  auto look_at = [&](const std::string& ns, std::string_view operand) {
    Rollout rollout = RolloutIn(*store_, ns, operand);
    if (!rollout.exists || rollout.available) return;
    series.push_back({{{"operand", std::string(operand)}, {"operand_namespace", ns}}, 1});
  };
  for (std::string_view operand : {api::kControllerName, api::kWebhookName}) look_at(ns_, operand);
  for (const std::string& operand : features_) look_at(ns_, operand);
  for (const std::string& ns : store_->ShardNamespaces()) {
    for (std::string_view operand : {api::kShardControllerName, api::kShardWebhookName})
      look_at(ns, operand);
  }
  return series;
}

}  // namespace operator_
