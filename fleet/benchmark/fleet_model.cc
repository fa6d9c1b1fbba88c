// SPDX-License-Identifier: Apache-2.0
#include "fleet/benchmark/fleet_model.h"

#include <algorithm>

#include "fleet/api/add_on_placement_score.h"
#include "fleet/api/placement.h"
#include "fleet/testing/make_object.h"

namespace benchmarks {

using kube::Json;
using kube::ObjectKey;

namespace {

constexpr char kSet[] = "global";
constexpr char kEnvironment[] = "benchmark/environment";
// The kinds of ten Placements, by the last digit of their numbers.
constexpr int kByScoreOfTen = 6;
constexpr int kByRegionOfTen = 3;
// Labels and claims of a cluster, besides those that Placements read.
constexpr int kOtherProperties = 10;

std::string EnvironmentName(int environment) { return "env-" + std::to_string(environment); }
std::string RegionName(int region) { return "region-" + std::to_string(region); }

// How many of the Placements before `placement` are of the same kind.
int IndexInKind(int placement) {
  int tens = placement / 10;
  int digit = placement % 10;
  if (digit < kByScoreOfTen) return tens * kByScoreOfTen + digit;
  if (digit < kByScoreOfTen + kByRegionOfTen) return tens * kByRegionOfTen + digit - kByScoreOfTen;
  return tens;
}

int Between(int least, int value, int most) { return std::clamp(value, least, most); }

}  // namespace

FleetModel::FleetModel(int clusters, int placements)
    : clusters_(clusters),
      placements_(placements),
      namespaces_(Between(1, placements / 10, 50)),
      // Each is read by a Placement, and has twice as many clusters as it selects.
      environments_(Between(1, std::min(clusters / (2 * kTopClusters), placements / 2), 10)),
      regions_(Between(2, placements * kByRegionOfTen / 10 / 3, 50)) {}

ObjectKey FleetModel::PlacementKey(int placement) const {
  return {NamespaceName(placement % namespaces_), "placement-" + std::to_string(placement)};
}

Selects FleetModel::KindOf(int placement) {
  int digit = placement % 10;
  if (digit < kByScoreOfTen) return Selects::kTopScores;
  return digit < kByScoreOfTen + kByRegionOfTen ? Selects::kRegion : Selects::kAll;
}

int FleetModel::RegionOf(int cluster) const {
  auto moved = moved_.find(cluster);
  return moved == moved_.end() ? cluster / environments_ % regions_ : moved->second;
}

int FleetModel::EnvironmentRead(int placement) const {
  return IndexInKind(placement) % environments_;
}

int FleetModel::RegionRead(int placement) const { return IndexInKind(placement) % regions_; }

std::vector<int> FleetModel::ByScore(int cluster) const {
  std::vector<int> found;
  for (int placement = 0; placement < placements_; ++placement) {
    if (KindOf(placement) == Selects::kTopScores &&
        EnvironmentRead(placement) == EnvironmentOf(cluster))
      found.push_back(placement);
  }
  return found;
}

void FleetModel::SetTaint(int cluster, bool tainted) {
  if (tainted) {
    tainted_.insert(cluster);
  } else {
    tainted_.erase(cluster);
  }
}

std::string FleetModel::MoveToNextRegion(int cluster) {
  int region = (RegionOf(cluster) + 1) % regions_;
  moved_[cluster] = region;
  return RegionName(region);
}

bool FleetModel::MustSelect(int placement, int cluster) const {
  if (tainted_.contains(cluster)) return false;
  return KindOf(placement) == Selects::kAll || RegionRead(placement) == RegionOf(cluster);
}

int FleetModel::SelectedCount(int placement) const {
  if (KindOf(placement) == Selects::kTopScores) return kTopClusters;
  int count = 0;
  for (int cluster = 0; cluster < clusters_; ++cluster) count += MustSelect(placement, cluster);
  return count;
}

Json FleetModel::Cluster(int cluster) const {
  Json labels = {{kEnvironment, EnvironmentName(EnvironmentOf(cluster))},
                 {kRegionLabel, RegionName(RegionOf(cluster))}};
  Json claims = Json::array();
  for (int i = 0; i < kOtherProperties; ++i) {
    std::string value = "value-" + std::to_string(cluster % (i + 2));
    labels["example.com/label-" + std::to_string(i)] = value;
    claims.push_back({{"name", "claim-" + std::to_string(i) + ".example.com"}, {"value", value}});
  }
  std::string cpu = std::to_string(16 + cluster % 97);
  return fleet::MakeManagedCluster(ClusterName(cluster))
      .Set("/metadata/labels", std::move(labels))
      .Set("/status/clusterClaims", std::move(claims))
      .Set("/status/allocatable", {{"cpu", cpu}, {"memory", "256Gi"}})
      .Set("/status/capacity", {{"cpu", "128"}, {"memory", "256Gi"}});
}

Json FleetModel::Set() { return fleet::MakeClusterSet(kSet, fleet::kSelectsAll); }

Json FleetModel::Binding(int ns) { return fleet::MakeSetBinding(NamespaceName(ns), kSet); }

Json FleetModel::Scores(int cluster, int arm64_cpu) {
  Json scores = Json::array({{{"name", "arm64.cpu"}, {"value", arm64_cpu}}});
  for (const char* other : {"amd64.cpu", "amd64.memory", "amd64.runnable", "amd64.share",
                            "arm64.memory", "arm64.runnable", "arm64.share"})
    scores.push_back({{"name", other}, {"value", cluster % 100}});
  return fleet::MakeObject(fleet::kAddOnPlacementScores, ClusterName(cluster), "multiarch")
      .Set("/status/scores", std::move(scores));
}

Json FleetModel::Placement(int placement) const {
  ObjectKey key = PlacementKey(placement);
  Json object = fleet::MakeObject(fleet::kPlacements, key.ns, key.name, "{}");
  Json& spec = object["spec"];
  Json labels = Json::object();
  switch (KindOf(placement)) {
    case Selects::kTopScores:
      spec["numberOfClusters"] = kTopClusters;
      labels[kEnvironment] = EnvironmentName(EnvironmentRead(placement));
      spec["prioritizerPolicy"] = kube::MustParseJson(R"({"mode": "Exact", "configurations": [
          {"weight": 10, "scoreCoordinate": {"type": "AddOn", "addOn": {
              "resourceName": "multiarch", "scoreName": "arm64.cpu"}}},
          {"weight": 1, "scoreCoordinate": {"type": "BuiltIn", "builtIn": "Steady"}}]})");
      break;
    case Selects::kRegion:
      labels[kRegionLabel] = RegionName(RegionRead(placement));
      break;
    case Selects::kAll:
      return object;
  }
  Json selector = {{"labelSelector", {{"matchLabels", std::move(labels)}}}};
  spec["predicates"] = Json::array({{{"requiredClusterSelector", std::move(selector)}}});
  return object;
}

}  // namespace benchmarks
