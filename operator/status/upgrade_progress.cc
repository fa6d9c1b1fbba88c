// SPDX-License-Identifier: Apache-2.0
#include "operator/status/upgrade_progress.h"

#include "api/find_condition.h"
#include "operator/status/remedies.h"

namespace operator_ {
namespace {

constexpr int kMaxNamed = 3;

// "namespace shop: ImagePullBackOff: ..." for the first of them.
std::string Describe(const std::map<std::string, Problem>& failed) {
  std::string text;
  int named = 0;
  for (const auto& [ns, problem] : failed) {
    if (named == kMaxNamed) return text + "; and other namespaces";
    text += (named++ == 0 ? "namespace " : "; namespace ") + ns + ": " + problem.reason + ": " +
            WithRemedy(problem);
  }
  return text;
}

}  // namespace

api::Condition UpgradeCondition(const UpgradeProgress& progress,
                                const std::vector<api::Condition>& before) {
  const api::Condition* last = api::FindCondition(before, kShardsUpToDate);
  bool in_progress = last != nullptr && last->status == "False";
  int failed = static_cast<int>(progress.failed.size());
  int waiting = progress.outdated - progress.refused;
  bool unfinished = in_progress && (progress.rolling_out > 0 || progress.stopped);
  api::Condition condition{.type = std::string(kShardsUpToDate), .status = "False"};
  if (waiting == 0 && !unfinished) {
    condition.status = "True";
    condition.reason = failed == 0 ? "AsExpected" : kUpgradedWithFailures;
    condition.message = failed == 0 ? "the shards of all namespaces are up to date"
                                    : std::to_string(failed) +
                                          " namespaces have a shard that does not run or could "
                                          "not be upgraded: " +
                                          Describe(progress.failed);
    return condition;
  }
  int upgraded = progress.shards - progress.outdated - progress.rolling_out - failed;
  upgraded += progress.refused;  // they are in `outdated` as well
  condition.message = std::to_string(upgraded) + " of " + std::to_string(progress.shards) +
                      " namespaces are upgraded";
  if (progress.stopped) {
    condition.reason = kUpgradeStopped;
    condition.message += "; " + Describe(progress.failed) +
                         "; the upgrade continues when shards of these namespaces run, or when "
                         "their PodPlacementConfigs are deleted";
    return condition;
  }
  if (!progress.cluster_current && waiting > 0) {
    condition.reason = kWaitingForCluster;
    condition.message += "; the operands in the operator's namespace are upgraded first";
  } else {
    condition.reason = kUpgrading;
    if (progress.rolling_out > 0)
      condition.message += ", " + std::to_string(progress.rolling_out) + " are being upgraded";
  }
  if (failed > 0) {
    condition.message += "; " + std::to_string(failed) +
                         " failed, which stops no other: " + Describe(progress.failed);
  }
  return condition;
}

}  // namespace operator_
