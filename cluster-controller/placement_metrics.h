// SPDX-License-Identifier: Apache-2.0
// PlacementMetrics: the metrics of pod placement, with the names of the Go operator's metrics.
#pragma once

#include "api/names.h"
#include "cluster-controller/inspection_metrics.h"
#include "kube/base/clock.h"
#include "kube/metrics/metrics.h"

namespace cluster_controller {

struct PlacementMetrics : InspectionMetrics {
  explicit PlacementMetrics(kube::Metrics& metrics)
      : InspectionMetrics(metrics),
        pods_gated(metrics.AddGauge(api::kPodsGatedMetric, api::kPodsGatedHelp)),
        pods_awaiting_other_gates(metrics.AddGauge(
            "mto_ppo_pods_awaiting_other_gates",
            "Pods that keep the cluster gate until those of other controllers are gone")),
        time_to_process_pod(
            metrics.AddHistogram("mto_ppo_ctrl_time_to_process_pod_seconds",
                                 "Duration of one reconcile of a pod, whatever its outcome")),
        time_to_process_gated_pod(metrics.AddHistogram(
            "mto_ppo_ctrl_time_to_process_gated_pod_seconds",
            "Time to process a gated pod, including the inspection of its images")),
        time_to_release_pod(
            metrics.AddHistogram("mto_ppo_ctrl_time_to_release_pod_seconds",
                                 "Time from the first observation of a gated pod to its release")),
        processed_pods(
            metrics.AddCounter("mto_ppo_ctrl_processed_pods_total", "Pods that were released")),
        failed_image_inspections(metrics.AddCounter("mto_ppo_ctrl_failed_image_inspection_total",
                                                    "Inspections that failed")),
        shard_takeovers(metrics.AddCounter(
            "mto_ppo_ctrl_shard_takeovers_total",
            "Pods whose local gate was removed because their shard did not work")) {}

  prometheus::Gauge& pods_gated;
  prometheus::Gauge& pods_awaiting_other_gates;
  prometheus::Histogram& time_to_process_pod;
  prometheus::Histogram& time_to_process_gated_pod;
  prometheus::Histogram& time_to_release_pod;
  prometheus::Counter& processed_pods;
  prometheus::Counter& failed_image_inspections;
  prometheus::Counter& shard_takeovers;
};

}  // namespace cluster_controller
