// SPDX-License-Identifier: Apache-2.0
// FleetModel: the fleet of the benchmark: its objects, and which clusters its Placements must
// select. Pure.
//
// In each ten Placements, six select ten clusters of one environment by the score `arm64.cpu` of
// the agents, three select all clusters of a region by its label, and one selects all clusters. The
// Placements by score do not use Balance, which would make the result of one Placement depend on
// all others.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace benchmarks {

// How many clusters of an environment a Placement by score selects.
inline constexpr int kTopClusters = 10;
// The least of each that a model is made for: each kind of Placement exists, and an environment has
// more clusters than are selected.
inline constexpr int kMinClusters = 100;
inline constexpr int kMinPlacements = 15;

enum class Selects { kTopScores, kRegion, kAll };

class FleetModel {
 public:
  static constexpr char kRegionLabel[] = "benchmark/region";

  // At least kMinClusters and kMinPlacements.
  FleetModel(int clusters, int placements);

  int clusters() const { return clusters_; }
  int placements() const { return placements_; }
  int namespaces() const { return namespaces_; }

  static std::string ClusterName(int cluster) { return "cluster-" + std::to_string(cluster); }
  static std::string NamespaceName(int number) { return "team-" + std::to_string(number); }
  kube::ObjectKey PlacementKey(int placement) const;
  static Selects KindOf(int placement);
  // The Placements that read the score of the cluster.
  std::vector<int> ByScore(int cluster) const;

  // What is changed on the hub.
  void SetTaint(int cluster, bool tainted);
  // Moves the cluster to the next region. Returns: the new value of its label kRegionLabel.
  std::string MoveToNextRegion(int cluster);

  // Whether a Placement by region, or of all clusters, must select the cluster.
  bool MustSelect(int placement, int cluster) const;
  // How many clusters each Placement must select.
  int SelectedCount(int placement) const;

  // Objects as the API server gets them; a status is written by a second call.
  kube::Json Cluster(int cluster) const;
  static kube::Json Set();
  static kube::Json Binding(int ns);
  // `arm64_cpu`: -100..100; that of the cluster before any change is BaseScore().
  static kube::Json Scores(int cluster, int arm64_cpu);
  static int BaseScore(int cluster) { return 20 + cluster * 7 % 51; }
  kube::Json Placement(int placement) const;

 private:
  int EnvironmentOf(int cluster) const { return cluster % environments_; }
  int RegionOf(int cluster) const;
  // The environment or region that a Placement by score or by region reads.
  int EnvironmentRead(int placement) const;
  int RegionRead(int placement) const;

  int clusters_;
  int placements_;
  int namespaces_;
  int environments_;
  int regions_;
  std::set<int> tainted_;
  std::map<int, int> moved_;  // cluster -> its region, if it has changed
};

}  // namespace benchmarks
