// SPDX-License-Identifier: Apache-2.0
// MonitorFeature: deploys the monitor of exec format errors on all nodes while the plugin
// execFormatErrorMonitor is enabled, and says in a condition where it works. Without the plugin
// everything is removed, and the ENoExecEvents that are left.
#pragma once

#include <memory>

#include "exec-format/operator/monitor_metrics.h"
#include "operator/feature.h"

namespace exec_format {

// `metrics` outlives it.
std::unique_ptr<operator_::Feature> NewMonitorFeature(const MonitorMetrics& metrics);

}  // namespace exec_format
