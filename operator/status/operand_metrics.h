// SPDX-License-Identifier: Apache-2.0
// OperandMetrics: metrics of the leading operator about operands that are not available and about
// the upgrade of the shards. An operand without pods has no metrics of its own.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "kube/metrics/metrics.h"
#include "operator/objects/operand_store.h"
#include "operator/probes/reach.h"
#include "operator/status/upgrade_progress.h"

namespace operator_ {

class OperandMetrics {
 public:
  // `ns`: the operator's namespace. `metrics` must not be rendered after this is destroyed.
  OperandMetrics(kube::Metrics& metrics, std::string ns);

  // What the leader knows beside the objects in its store.
  struct Sources {
    std::function<UpgradeProgress()> upgrade;
    // The number of PodPlacementConfigs over a budget.
    std::function<size_t()> left_out;
    // Of WebhookProber: the scopes that are unreachable, and the reach of the cluster's webhook.
    std::function<std::vector<std::string>()> unreachable;
    std::function<Reach()> cluster_reach;
  };

  // From now on until Stop(), the metrics are those of `store` and `sources`. `features`: the
  // Deployments of features in the operator's namespace.
  void Follow(const OperandStore& store, std::vector<std::string> features, Sources sources) {
    store_ = &store;
    features_ = std::move(features);
    sources_ = std::move(sources);
  }
  // This replica does not lead: the metrics have no series.
  void Stop() {
    store_ = nullptr;
    sources_ = {};
  }

 private:
  kube::Metrics::Series Unavailable() const;
  kube::Metrics::Series Unreachable() const;

  std::string ns_;
  const OperandStore* store_ = nullptr;
  std::vector<std::string> features_;
  Sources sources_;
};

}  // namespace operator_
