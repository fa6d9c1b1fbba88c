// SPDX-License-Identifier: Apache-2.0
// FactMetrics: the metrics of image facts in the cluster controller.
#pragma once

#include "kube/metrics/metrics.h"

namespace image_facts {

struct FactMetrics {
  explicit FactMetrics(kube::Metrics& metrics)
      : facts(metrics.AddGauge("mto_ppo_ctrl_image_facts", "Facts about images")),
        bytes(metrics.AddGauge("mto_ppo_ctrl_image_facts_bytes",
                               "Size of the facts about images, as stored")),
        writes(metrics.AddCounter("mto_ppo_ctrl_image_facts_writes_total",
                                  "Writes of objects with facts about images")),
        refreshes(
            metrics.AddCounter("mto_ppo_ctrl_image_facts_refreshes_total",
                               "Facts that registries were asked for again in the background")),
        failures(metrics.AddCounter(
            "mto_ppo_ctrl_image_facts_failures_total",
            "Reads and writes of facts about images that the API server did not do")) {}

  prometheus::Gauge& facts;
  prometheus::Gauge& bytes;
  prometheus::Counter& writes;
  prometheus::Counter& refreshes;
  prometheus::Counter& failures;
};

}  // namespace image_facts
