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
#include "operator/status/upgrade_progress.h"

namespace operator_ {

class OperandMetrics {
 public:
  // `ns`: the operator's namespace. `metrics` must not be rendered after this is destroyed.
  OperandMetrics(kube::Metrics& metrics, std::string ns);

  // From now on until Stop(), the metrics are those of `store`, `upgrade` and `left_out`, the
  // number of PodPlacementConfigs over a budget. `features`: the Deployments of features in the
  // operator's namespace.
  void Follow(const OperandStore& store, std::vector<std::string> features,
              std::function<UpgradeProgress()> upgrade, std::function<size_t()> left_out) {
    store_ = &store;
    features_ = std::move(features);
    upgrade_ = std::move(upgrade);
    left_out_ = std::move(left_out);
  }
  // This replica does not lead: the metrics have no series.
  void Stop() {
    store_ = nullptr;
    upgrade_ = nullptr;
    left_out_ = nullptr;
  }

 private:
  kube::Metrics::Series Unavailable() const;

  std::string ns_;
  const OperandStore* store_ = nullptr;
  std::vector<std::string> features_;
  std::function<UpgradeProgress()> upgrade_;
  std::function<size_t()> left_out_;
};

}  // namespace operator_
