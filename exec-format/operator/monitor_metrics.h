// SPDX-License-Identifier: Apache-2.0
// MonitorMetrics: the operator's metrics of the monitors.
#pragma once

#include "kube/metrics/metrics.h"

namespace exec_format {

struct MonitorMetrics {
  explicit MonitorMetrics(kube::Metrics& metrics)
      : missing(metrics.AddGauge("mto_ppo_exec_format_monitor_missing_nodes",
                                 "Nodes where exec format errors are to be seen, and are not")) {}

  prometheus::Gauge& missing;
};

}  // namespace exec_format
