// SPDX-License-Identifier: Apache-2.0
#include "operator/status/upgrade_progress.h"

#include <algorithm>

#include "operator/status/remedies.h"

namespace operator_ {
namespace {

constexpr int kMaxNamed = 3;

// "namespace shop: ImagePullBackOff: ..." for the first of them.
std::string Describe(const std::map<std::string, Problem>& failed) {
  std::string text;
  int named = 0;
  for (const auto& [ns, problem] : failed) {
    if (named++ == kMaxNamed) return text + " and other namespaces; ";
    text += "namespace " + ns + ": " + problem.reason + ": " + WithRemedy(problem) + "; ";
  }
  return text;
}

}  // namespace

api::Condition UpgradeCondition(const UpgradeProgress& progress,
                                const std::vector<api::Condition>& before) {
  bool in_progress = std::any_of(before.begin(), before.end(), [](const api::Condition& condition) {
    return condition.type == kShardsUpToDate && condition.status == "False";
  });
  int failed = static_cast<int>(progress.failed.size());
  bool unfinished = in_progress && progress.rolling_out + failed > 0;
  api::Condition condition{.type = std::string(kShardsUpToDate), .status = "False"};
  if (progress.outdated == 0 && !unfinished) {
    condition.status = "True";
    condition.reason = "AsExpected";
    condition.message = "the shards of all namespaces are up to date";
    return condition;
  }
  int upgraded = progress.shards - progress.outdated - progress.rolling_out - failed;
  condition.message = std::to_string(upgraded) + " of " + std::to_string(progress.shards) +
                      " namespaces are upgraded";
  if (failed > 0) {
    condition.reason = kUpgradeStopped;
    condition.message += "; " + Describe(progress.failed) +
                         "the upgrade continues when these shards run, or when the "
                         "PodPlacementConfigs of these namespaces are deleted";
  } else if (!progress.cluster_current && progress.outdated > 0) {
    condition.reason = kWaitingForCluster;
    condition.message += "; the operands in the operator's namespace are upgraded first";
  } else {
    condition.reason = kUpgrading;
    if (progress.rolling_out > 0)
      condition.message += ", " + std::to_string(progress.rolling_out) + " are being upgraded";
  }
  return condition;
}

}  // namespace operator_
