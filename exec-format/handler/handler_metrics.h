// SPDX-License-Identifier: Apache-2.0
// HandlerMetrics: the metrics of ENoExecEvents. The first one is that of the Go operator.
#pragma once

#include <string>

#include "exec-format/handler/finding.h"
#include "kube/metrics/metrics.h"

namespace exec_format {

class HandlerMetrics {
 public:
  explicit HandlerMetrics(kube::Metrics& metrics)
      : handled(metrics.AddCounter("mto_enoexecevents_total",
                                   "ENoExecEvents of which the pod got an event")),
        no_status_(Add(metrics, "no-status")),
        too_old_(Add(metrics, "too-old")),
        not_matched_(Add(metrics, "not-matched")),
        too_many_(Add(metrics, "too-many")),
        too_large_(Add(metrics, "too-large")) {}

  prometheus::Counter& skipped(Skipped why) {
    switch (why) {
      case Skipped::kNoStatus:
        return no_status_;
      case Skipped::kTooOld:
        return too_old_;
      case Skipped::kNotMatched:
        return not_matched_;
      case Skipped::kTooMany:
        return too_many_;
      case Skipped::kTooLarge:
        return too_large_;
    }
    return not_matched_;
  }

  prometheus::Counter& handled;

 private:
  static prometheus::Counter& Add(kube::Metrics& metrics, const std::string& reason) {
    return metrics.AddCounter("mto_enoexecevents_skipped_total",
                              "ENoExecEvents that were deleted without an event of a pod",
                              {{"reason", reason}});
  }

  prometheus::Counter& no_status_;
  prometheus::Counter& too_old_;
  prometheus::Counter& not_matched_;
  prometheus::Counter& too_many_;
  prometheus::Counter& too_large_;
};

}  // namespace exec_format
