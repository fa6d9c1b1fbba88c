// SPDX-License-Identifier: Apache-2.0
// InspectionMetrics: the metrics of image inspection, for every program that inspects.
#pragma once

#include "kube/metrics/metrics.h"

namespace cluster_controller {

struct InspectionMetrics {
  explicit InspectionMetrics(kube::Metrics& metrics)
      : time_to_inspect_image(metrics.AddHistogram("mto_ppo_ctrl_time_to_inspect_image_seconds",
                                                   "Time to inspect one image")),
        time_to_inspect_pod_images(
            metrics.AddHistogram("mto_ppo_ctrl_time_to_inspect_pod_images_seconds",
                                 "Time to inspect all images of a pod")),
        stale_inspections(metrics.AddCounter(
            "mto_ppo_ctrl_stale_image_inspections_total",
            "Pods whose images were known only from earlier, as a registry failed")) {}

  prometheus::Histogram& time_to_inspect_image;
  prometheus::Histogram& time_to_inspect_pod_images;
  prometheus::Counter& stale_inspections;
};

}  // namespace cluster_controller
