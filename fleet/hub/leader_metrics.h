// SPDX-License-Identifier: Apache-2.0
// The gauges of what the hub's leader knows; zero between terms.
#pragma once

#include "fleet/hub/leader.h"
#include "kube/metrics/metrics.h"

namespace fleet {

// `current`, the Leader of the current term or nullptr, outlives the last Render() of `metrics`.
void AddStoreMetrics(kube::Metrics& metrics, Leader*& current);

// Metrics of a hub that owns the membership.
void AddMembershipMetrics(kube::Metrics& metrics, Leader*& current);

}  // namespace fleet
