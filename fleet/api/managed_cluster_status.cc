// SPDX-License-Identifier: Apache-2.0
#include "fleet/api/managed_cluster_status.h"

#include <algorithm>
#include <utility>

namespace fleet {
namespace {

using kube::Json;

constexpr int64_t kDefaultLeaseSeconds = 60;
constexpr int64_t kMaxLeaseSeconds = 3600;

}  // namespace

std::chrono::seconds LeaseDurationOf(const Json& cluster) {
  int64_t seconds = kube::IntAt(cluster, "spec.leaseDurationSeconds", kDefaultLeaseSeconds);
  if (seconds <= 0) seconds = kDefaultLeaseSeconds;
  return std::chrono::seconds(std::min(seconds, kMaxLeaseSeconds));
}

void SetCondition(Json& conditions, const NewCondition& condition, kube::WallTime now) {
  Json replacement = {{"type", std::string(condition.type)},
                      {"status", std::string(condition.status)},
                      {"reason", std::string(condition.reason)},
                      {"message", condition.message},
                      {"lastTransitionTime", kube::FormatTime(now)}};
  for (Json& before : conditions) {
    if (kube::StringAt(before, "type") != condition.type) continue;
    std::string since = kube::StringAt(before, "lastTransitionTime");
    bool same_status = kube::StringAt(before, "status") == condition.status;
    if (!since.empty() && same_status) replacement["lastTransitionTime"] = since;
    before = std::move(replacement);
    return;
  }
  conditions.push_back(std::move(replacement));
}

}  // namespace fleet
