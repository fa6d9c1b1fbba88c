// SPDX-License-Identifier: Apache-2.0
// OperandMetrics: which operands are not available, and how far the upgrade of the shards is, as
// metrics of the operator that leads. An operand without pods has no metrics of its own.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "kube/metrics/metrics.h"
#include "operator/objects/operand_store.h"
#include "operator/status/upgrade_progress.h"

namespace operator_ {

class OperandMetrics {
 public:
  // `ns`: the operator's namespace. `metrics` must not be rendered after this is destroyed.
  OperandMetrics(kube::Metrics& metrics, std::string ns);

  // From now on until Stop(), the metrics are those of `store` and `upgrade`.
  void Follow(const OperandStore& store, std::function<UpgradeProgress()> upgrade) {
    store_ = &store;
    upgrade_ = std::move(upgrade);
  }
  // This replica does not lead: the metrics have no series.
  void Stop() {
    store_ = nullptr;
    upgrade_ = nullptr;
  }

 private:
  kube::Metrics::Series Unavailable() const;

  std::string ns_;
  const OperandStore* store_ = nullptr;
  std::function<UpgradeProgress()> upgrade_;
};

}  // namespace operator_
