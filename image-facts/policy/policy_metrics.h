// SPDX-License-Identifier: Apache-2.0
// PolicyMetrics: with how many images a policy places pods.
#pragma once

#include "kube/metrics/metrics.h"

namespace image_facts {

struct PolicyMetrics {
  explicit PolicyMetrics(kube::Metrics& metrics)
      : images(metrics.AddGauge("mto_ppo_known_images_in_policy",
                                "Images with which the policy of the cluster gate places pods")) {}

  kube::Gauge& images;
};

}  // namespace image_facts
