// SPDX-License-Identifier: Apache-2.0
// The metrics of the shard, with the names of the Go operator's pod placement controller. A new one
// is a member here; PodReconciler has them as Dependencies::metrics.
#pragma once

#include "api/names.h"
#include "kube/metrics/metrics.h"

namespace shard {

struct ShardMetrics {
  explicit ShardMetrics(kube::Metrics& metrics)
      : pods_gated(metrics.AddGauge(api::kPodsGatedMetric, api::kPodsGatedHelp)),
        time_to_process_pod(metrics.AddHistogram("mto_ppo_ctrl_time_to_process_pod_seconds",
                                                 "The time taken to process any pod")),
        time_to_process_gated_pod(
            metrics.AddHistogram("mto_ppo_ctrl_time_to_process_gated_pod_seconds",
                                 "The time taken to process a pod that is gated")),
        processed_pods(metrics.AddCounter("mto_ppo_ctrl_processed_pods_total",
                                          "The total number of gated pods processed")) {}

  kube::Gauge& pods_gated;
  kube::Histogram& time_to_process_pod;
  kube::Histogram& time_to_process_gated_pod;
  kube::Counter& processed_pods;
};

}  // namespace shard
