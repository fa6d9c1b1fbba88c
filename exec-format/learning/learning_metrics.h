// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kube/metrics/metrics.h"

namespace exec_format {

struct LearningMetrics {
  explicit LearningMetrics(kube::Metrics& metrics)
      : findings(metrics.AddGauge("mto_image_findings",
                                  "Images that are not placed on an architecture of their index")),
        learned(metrics.AddCounter("mto_image_findings_learned_total", "New ImageFindings")),
        evicted(metrics.AddCounter("mto_image_findings_evicted_total",
                                   "ImageFindings that were deleted to make room")),
        looks(metrics.AddCounter("mto_image_looks_total",
                                 "Images that were looked at in their registry")),
        failed_looks(metrics.AddCounter("mto_image_looks_failed_total",
                                        "Images whose program could not be read")),
        dropped_looks(metrics.AddCounter("mto_image_looks_dropped_total",
                                         "Images that were not looked at, as too many wait")) {}

  prometheus::Gauge& findings;
  prometheus::Counter& learned;
  prometheus::Counter& evicted;
  prometheus::Counter& looks;
  prometheus::Counter& failed_looks;
  prometheus::Counter& dropped_looks;
};

}  // namespace exec_format
