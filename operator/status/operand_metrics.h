// SPDX-License-Identifier: Apache-2.0
// OperandMetrics: which operands are not available, as metrics of the operator that leads. An
// operand without pods has no metrics of its own.
#pragma once

#include <string>

#include "kube/metrics/metrics.h"
#include "operator/objects/operand_store.h"

namespace operator_ {

class OperandMetrics {
 public:
  // `ns`: the operator's namespace. `metrics` must not be rendered after this is destroyed.
  OperandMetrics(kube::Metrics& metrics, std::string ns);

  // From now on the metrics are those of `store`, until the next call; nullptr: this replica does
  // not lead, and they have no series.
  void Follow(const OperandStore* store) { store_ = store; }

 private:
  kube::Metrics::Series Unavailable() const;
  kube::Metrics::Series Shards() const;

  std::string ns_;
  const OperandStore* store_ = nullptr;
};

}  // namespace operator_
