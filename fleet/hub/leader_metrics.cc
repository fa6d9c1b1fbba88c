// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/leader_metrics.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "fleet/api/budgets.h"
#include "fleet/bounds/bounded_watch.h"
#include "fleet/rollout/controller/rollout_metrics.h"

namespace fleet {

void AddStoreMetrics(kube::Metrics& metrics, Leader*& current) {
  kube::Gauge& clusters =
      metrics.AddGauge("mto_fleet_clusters", "ManagedClusters that this replica watches");
  kube::Gauge& placements =
      metrics.AddGauge("mto_fleet_placements", "Placements that this replica watches");
  std::map<std::string_view, kube::Gauge*> left_out;
  for (const kube::Resource* kind : {&kManagedClusters, &kAddOnPlacementScores, &kPlacements,
                                     &kPlacementDecisions, &kFleetPodPlacements}) {
    left_out[kind->kind] =
        &metrics.AddGauge("mto_fleet_left_out", "Objects that exceed a limit and are not in force",
                          {{"kind", std::string(kind->kind)}});
  }
  metrics.OnRender([left_out = std::move(left_out), &current] {
    for (const auto& [kind, gauge] : left_out) gauge->Set(0);
    if (current == nullptr) return;
    current->ForEachBounded([&left_out](const BoundedWatch& watch) {
      left_out.at(watch.resource().kind)->Set(static_cast<double>(watch.left_out()));
    });
  });
  metrics.OnRender([&] {
    const FleetStore* store = current == nullptr ? nullptr : &current->store();
    clusters.Set(store == nullptr ? 0 : static_cast<double>(store->fleet().clusters.size()));
    placements.Set(store == nullptr ? 0 : static_cast<double>(store->placements()));
  });
  AddRolloutMetrics(metrics,
                    [&current] { return current == nullptr ? nullptr : &current->rollouts(); });
}

void AddMembershipMetrics(kube::Metrics& metrics, Leader*& current) {
  auto gauge = [&](const char* state) -> kube::Gauge& {
    return metrics.AddGauge("mto_fleet_members", "ManagedClusters by what their agents report",
                            {{"state", state}});
  };
  kube::Gauge& available = gauge("available");
  kube::Gauge& unavailable = gauge("unavailable");
  kube::Gauge& unreachable = gauge("unreachable");
  metrics.OnRender([&available, &unavailable, &unreachable, &current] {
    ClusterIndex::Counts counts;
    if (current != nullptr && current->membership())
      counts = current->membership()->CountAvailable();
    available.Set(static_cast<double>(counts.available));
    unavailable.Set(static_cast<double>(counts.unavailable));
    unreachable.Set(static_cast<double>(counts.unreachable));
  });
}

}  // namespace fleet
