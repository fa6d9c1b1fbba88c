// SPDX-License-Identifier: Apache-2.0
#include <glog/logging.h>

#include "fleet/api/add_on_placement_score.h"
#include "fleet/api/fleet_pod_placement.h"
#include "fleet/api/managed_cluster.h"
#include "fleet/api/managed_cluster_set.h"
#include "fleet/api/manifest_work.h"
#include "fleet/api/placement.h"
#include "fleet/api/placement_decision.h"
#include "fleet/api/pod_placement_work.h"
#include "fleet/rollout/plan.h"
#include "fleet/scores/scores.h"
#include "fleet/scores/usage.h"
#include "fleet/scores/usage_index.h"
#include "fuzz/fuzz_targets.h"

namespace fuzz {
namespace {

using kube::Json;

// What is accepted is written and read again as the same.
void CheckFleetPodPlacement(const Json& json) {
  auto fleet = fleet::FleetPodPlacement::FromJson(json);
  CHECK_EQ(fleet.has_value(), json.is_object());
  if (!fleet || !fleet->problems.empty()) return;
  CHECK(!fleet->spec.placements.empty() && !fleet->spec.objects.empty());
  CHECK_LE(fleet->spec.objects.size(), fleet::kMaxPodPlacementConfigs + 1);
  auto again = fleet::FleetPodPlacement::FromJson({{"spec", SpecToJson(fleet->spec)}});
  CHECK(again->problems.empty()) << api::Describe(again->problems);
  CHECK(again->spec.placements == fleet->spec.placements);
  CHECK_EQ(HashOf(again->spec), HashOf(fleet->spec));
  (void)StatusToJson(fleet->status).dump();
}

// The cluster in the plan of a rollout.
void CheckPlan(const fleet::PodPlacementWork& work) {
  (void)StatusToJson(work.status).dump();
  fleet::PlacementRollout placement{.name = "p", .groups = {{.clusters = {"c"}}}};
  kube::WallTime now{std::chrono::hours(500'000)};
  auto plan = fleet::PlanRollout({&placement, 1}, {{"c", WorkOf(work)}}, "newest", now);
  CHECK_EQ(plan.targets.size(), 1u);
  CHECK_EQ(plan.counts.total, 1);
  if (plan.look_again) {
    CHECK(*plan.look_again > now);
  }
  for (const fleet::ClusterFailure& failure : plan.failures)
    CHECK_LE(failure.message.size(), fleet::kMaxFailureMessage);
}

void CheckWork(const Json& json) {
  auto work = fleet::PodPlacementWork::FromJson(json);
  CHECK_EQ(work.has_value(), json.is_object());
  if (!work) return;
  CheckPlan(*work);
  if (!work->problems.empty()) return;
  auto again = fleet::PodPlacementWork::FromJson({{"spec", SpecToJson(work->spec)}});
  CHECK(again->problems.empty()) << api::Describe(again->problems);
  CHECK_EQ(SpecToJson(again->spec), SpecToJson(work->spec));
}

void CheckManifestWork(const Json& json) {
  auto work = fleet::WorkFromManifestWork(json);
  CHECK_EQ(work.has_value(), json.is_object());
  if (!work) return;
  CheckPlan(*work);
  if (!work->problems.empty()) return;
  Json written = fleet::ManifestWorkContent(work->name, work->spec);
  written["metadata"]["name"] = work->name;
  auto again = fleet::WorkFromManifestWork(written);
  CHECK(again->problems.empty()) << api::Describe(again->problems);
  CHECK_EQ(SpecToJson(again->spec), SpecToJson(work->spec));
}

// Scores are percentages, and an object that is removed leaves nothing.
void CheckScores(const Json& json) {
  fleet::UsageIndex index;
  fleet::NodeUsage node = fleet::NodeUsage::FromJson(json);
  fleet::PodUsage pod = fleet::PodUsage::FromJson(json);
  index.SetNode(pod.node, node);
  index.SetPod("a", pod);
  index.SetPod("b", pod);
  for (const auto& [name, value] : ScoresOf(index.sums(), {}))
    CHECK(value >= 0 && value <= 100) << name << " " << value;
  index.RemovePod("a");
  index.RemoveNode(pod.node);
  index.RemovePod("b");
  CHECK(index.sums() == fleet::UsageSums());
}

// Any object, read as each of the kinds that a hub or an agent reads.
void FuzzFleetObject(const std::string& input) {
  kube::Result<Json> json = kube::ParseJson(input);
  if (!json) return;
  (void)fleet::AddOnPlacementScore::FromJson(*json);
  (void)fleet::ManagedCluster::FromJson(*json);
  (void)fleet::ManagedClusterSet::FromJson(*json);
  (void)fleet::ManagedClusterSetBinding::FromJson(*json);
  (void)fleet::Placement::FromJson(*json);
  (void)fleet::PlacementDecision::FromJson(*json);
  CheckFleetPodPlacement(*json);
  CheckWork(*json);
  CheckManifestWork(*json);
  CheckScores(*json);
}

}  // namespace

std::vector<FuzzTarget> FleetTargets() { return {{"fleet-object", FuzzFleetObject}}; }

}  // namespace fuzz
