// SPDX-License-Identifier: Apache-2.0
#include "fleet/scheduling/tolerations.h"

#include <algorithm>
#include <chrono>

namespace fleet {
namespace {

using kube::WallTime;

bool Fits(const Toleration& toleration, const Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.op == "Exists") return true;
  return (toleration.op.empty() || toleration.op == "Equal") && toleration.value == taint.value;
}

// When `toleration`, which fits `taint`, ends. WallTime::max(): never; any time up to `now`: it has
// ended. Seconds are 64 bits of a user's choice, the clock ends in 2262.
WallTime EndOf(const Toleration& toleration, const Taint& taint) {
  if (!toleration.seconds) return WallTime::max();
  if (!taint.time_added) return WallTime::min();
  const auto left =
      std::chrono::duration_cast<std::chrono::seconds>(WallTime::max() - *taint.time_added);
  if (*toleration.seconds >= left.count()) return WallTime::max();
  constexpr int64_t kLongAgo = -9'000'000'000;  // before 1970, whenever the taint was added
  if (*toleration.seconds < kLongAgo) return WallTime::min();
  return *taint.time_added + std::chrono::seconds(*toleration.seconds);
}

std::string Describe(const Taint& taint, bool expired) {
  std::string text = "taint " + taint.key;
  if (!taint.value.empty()) text += "=" + taint.value;
  text += ":" + taint.effect;
  return expired ? text + ", its toleration expired" : text;
}

}  // namespace

std::optional<std::string> CheckTolerations(const std::vector<Toleration>& tolerations) {
  for (size_t i = 0; i < tolerations.size(); ++i) {
    const Toleration& toleration = tolerations[i];
    std::string name = "tolerations[" + std::to_string(i) + "]";
    if (toleration.key.empty() && toleration.op != "Exists")
      return name + ": without a key, the operator must be Exists";
    if (toleration.op == "Exists" && !toleration.value.empty())
      return name + ": the operator Exists must have no value";
  }
  return std::nullopt;
}

Tolerated Tolerate(const std::vector<Taint>& taints, const std::vector<Toleration>& tolerations,
                   bool selected, WallTime now) {
  Tolerated result;
  for (const Taint& taint : taints) {
    if (taint.effect == kPreferNoSelect || (selected && taint.effect == kNoSelectIfNew)) continue;
    WallTime end = WallTime::min();  // of the toleration that lasts longest
    bool fits = false;
    for (const Toleration& toleration : tolerations) {
      if (!Fits(toleration, taint)) continue;
      fits = true;
      end = std::max(end, EndOf(toleration, taint));
    }
    if (end <= now) return {.rejected = &taint, .expired = fits};
    if (end != WallTime::max() && (!result.until || end < *result.until)) result.until = end;
  }
  return result;
}

ToleratedClusters FilterByTaints(const std::vector<Toleration>& tolerations,
                                 const Clusters& clusters, const DecisionCounts& own, WallTime now,
                                 Rejections& rejections) {
  ToleratedClusters kept;
  kept.clusters.reserve(clusters.size());
  kept.until.reserve(clusters.size());
  for (const ManagedCluster* cluster : clusters) {
    Tolerated tolerated;
    if (!cluster->taints.empty())
      tolerated = Tolerate(cluster->taints, tolerations, CountOf(own, cluster->name) > 0, now);
    if (tolerated.rejected == nullptr) {
      kept.clusters.push_back(cluster);
      kept.until.push_back(tolerated.until);
    } else {
      std::string why = Describe(*tolerated.rejected, tolerated.expired);
      rejections.Add(*cluster, rejections.ReasonIndex(kTaintToleration, why));
    }
  }
  return kept;
}

}  // namespace fleet
