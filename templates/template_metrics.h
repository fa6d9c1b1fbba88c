// SPDX-License-Identifier: Apache-2.0
// TemplateMetrics: the metrics of pod templates.
#pragma once

#include "kube/metrics/metrics.h"

namespace templates {

struct TemplateMetrics {
  explicit TemplateMetrics(kube::Metrics& metrics)
      : changed_templates(
            metrics.AddCounter("mto_ppo_ctrl_changed_templates_total",
                               "Jobs and DaemonSets whose pod template got a requirement")),
        unchanged_templates(metrics.AddCounter(
            "mto_ppo_ctrl_unchanged_templates_total",
            "Jobs and DaemonSets that got none, as their images were not known in time, or have no "
            "architecture in common, or as the API server refused it")),
        templates_left_out(metrics.AddCounter("mto_ppo_ctrl_templates_left_out_total",
                                              "Times that a Job or DaemonSet got none: too many "
                                              "waited, its time had passed, or it is "
                                              "too large")),
        daemon_sets_lacking_architecture(metrics.AddGauge(
            "mto_ppo_ctrl_daemon_sets_lacking_architecture",
            "DaemonSets whose images lack an architecture of the nodes that they run on")),
        daemon_sets_not_compared(metrics.AddGauge(
            "mto_ppo_ctrl_daemon_sets_not_compared",
            "DaemonSets that the last report left out: images not known, or beyond a limit")) {}

  prometheus::Counter& changed_templates;
  prometheus::Counter& unchanged_templates;
  prometheus::Counter& templates_left_out;
  prometheus::Gauge& daemon_sets_lacking_architecture;
  prometheus::Gauge& daemon_sets_not_compared;
};

}  // namespace templates
