// SPDX-License-Identifier: Apache-2.0
// KnownImagesMetrics: how often pods of known images are placed at their creation, and why not.
#pragma once

#include <cstdint>
#include <string>

#include "image-facts/known_images_report.h"
#include "kube/metrics/metrics.h"

namespace image_facts {

struct KnownImagesMetrics {
  explicit KnownImagesMetrics(kube::Metrics& metrics)
      : facts(
            metrics.AddGauge("mto_ppo_wh_image_facts", "Facts about images that the webhook has")),
        placed(Result(metrics, "placed")),
        never_read(Result(metrics, "never-read")),
        too_old(Result(metrics, "too-old")),
        not_current(Result(metrics, "not-current")),
        of_no_registry(Result(metrics, "of-no-registry")),
        other(Result(metrics, "other")) {}

  static kube::Counter& Result(kube::Metrics& metrics, const std::string& result) {
    return metrics.AddCounter("mto_ppo_wh_known_images_total",
                              "Pods for which the webhook looked whether their images are known",
                              {{"result", result}});
  }

  // Without the replica.
  KnownImagesReport Report() const {
    KnownImagesReport report;
    for (const kube::Counter* counter :
         {&placed, &never_read, &too_old, &not_current, &of_no_registry, &other})
      report.looked += static_cast<uint64_t>(counter->Value());
    report.placed = static_cast<uint64_t>(placed.Value());
    report.images = static_cast<uint64_t>(facts.Value());
    return report;
  }

  kube::Gauge& facts;
  kube::Counter& placed;
  kube::Counter& never_read;
  kube::Counter& too_old;
  kube::Counter& not_current;
  kube::Counter& of_no_registry;
  // The images are known, but the pod needs a gate, or the configuration allows no placement.
  kube::Counter& other;
};

}  // namespace image_facts
