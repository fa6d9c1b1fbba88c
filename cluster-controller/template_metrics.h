// SPDX-License-Identifier: Apache-2.0
// TemplateMetrics: the metrics of pod templates.
#pragma once

#include "kube/metrics/metrics.h"

namespace cluster_controller {

struct TemplateMetrics {
  explicit TemplateMetrics(kube::Metrics& metrics)
      : changed_templates(
            metrics.AddCounter("mto_ppo_ctrl_changed_templates_total",
                               "Jobs and DaemonSets whose pod template got a requirement")),
        unchanged_templates(metrics.AddCounter(
            "mto_ppo_ctrl_unchanged_templates_total",
            "Jobs and DaemonSets that got none, as their images were not known in time, or have no "
            "architecture in common, or as the API server refused it")),
        daemon_sets_lacking_architecture(metrics.AddGauge(
            "mto_ppo_ctrl_daemon_sets_lacking_architecture",
            "DaemonSets whose images lack an architecture of the nodes that they run on")),
        daemon_sets_not_compared(metrics.AddGauge(
            "mto_ppo_ctrl_daemon_sets_not_compared",
            "DaemonSets that the last report left out: images not known, or beyond a limit")) {}

  prometheus::Counter& changed_templates;
  prometheus::Counter& unchanged_templates;
  prometheus::Gauge& daemon_sets_lacking_architecture;
  prometheus::Gauge& daemon_sets_not_compared;
};

}  // namespace cluster_controller
