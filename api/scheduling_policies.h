// SPDX-License-Identifier: Apache-2.0
// The plugin schedulingPolicies of the ClusterPodPlacementConfig: applies PodSchedulingPolicies and
// ClusterPodSchedulingPolicies (scheduling-policies/) to new pods and to the pod templates of
// workloads.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "api/fields.h"

namespace api {

inline constexpr std::array<std::string_view, 2> kFailurePolicies = {"Ignore", "Fail"};
inline constexpr std::array<std::string_view, 2> kSchedulingPolicyUpdates = {"Always",
                                                                             "ChangedTemplates"};

inline constexpr std::string_view kPolicyTargetsPods = "Pods";
inline constexpr std::array<std::string_view, 2> kPolicyTargets = {"PodsAndTemplates",
                                                                   kPolicyTargetsPods};

struct SchedulingPolicies {
  bool enabled = false;
  // What happens to a request while no replica of the webhook answers.
  std::string failure_policy{kFailurePolicies[0]};
  // Which updates of workloads get the criteria. With Always, a new policy restarts the pods of a
  // workload at its next update.
  std::string updates{kSchedulingPolicyUpdates[0]};
  // What gets the criteria: new pods alone, or the pod templates of workloads, too.
  std::string resources{kPolicyTargets[0]};

  bool operator==(const SchedulingPolicies&) const = default;
  static void Fields(auto& policies, auto& field) {
    field("enabled", policies.enabled, kRequired);
    field("failurePolicy", policies.failure_policy, OneOf{kFailurePolicies});
    field("updates", policies.updates, OneOf{kSchedulingPolicyUpdates});
    field("resources", policies.resources, OneOf{kPolicyTargets});
  }
};

}  // namespace api
