// SPDX-License-Identifier: Apache-2.0
// MonitorFeature: deploys the monitor of exec format errors on all nodes while the plugin
// execFormatErrorMonitor is enabled, and says in a condition where it works. Without the plugin
// everything is removed, and the ENoExecEvents that are left.
#pragma once

#include <memory>

#include "operator/feature.h"

namespace exec_format {

std::unique_ptr<operator_::Feature> NewMonitorFeature();

}  // namespace exec_format
