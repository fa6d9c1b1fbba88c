// SPDX-License-Identifier: Apache-2.0
#include "plugin/pod/policy_lines.h"

#include <set>
#include <utility>

#include "api/find_condition.h"
#include "plugin/pod/config_lines.h"
#include "scheduling-policies/index.h"

namespace plugin {
namespace {

using policy::SchedulingPolicy;

std::string WhyNot(const SchedulingPolicy& one) {
  if (!one.problems.empty()) return "it is not valid: " + api::Describe(one.problems);
  if (!one.pod_selector) return "it has no podSelector, and selects nothing";
  if (!policy::CanSelect(one)) return "it has nothing for pods";
  return "it selects " + DescribeSelector(*one.pod_selector);
}

// What the policy webhook says of it; "" if all is well.
std::string ProblemOf(const SchedulingPolicy& one) {
  const api::Condition* ready = api::FindCondition(one.status.conditions, policy::kReady);
  if (ready == nullptr || ready->status == "True") return "";
  return ready->reason + ": " + ready->message;
}

}  // namespace

std::vector<PolicyLine> DescribePolicies(const PodEvidence& evidence) {
  const std::string& ns = evidence.pod.metadata().namespace_();
  policy::Index index;
  if (evidence.around->ns) index.PutNamespace(ns, evidence.around->ns->metadata().labels());
  for (const SchedulingPolicy& one : evidence.around->policies) index.Put(one);
  std::vector<PolicyLine> lines;
  std::set<std::string> selecting;
  auto selected = index.For(ns, evidence.pod.metadata().labels());
  if (selected) {
    for (const SchedulingPolicy* one : selected->policies) {
      selecting.insert(one->Describe());
      lines.push_back({one->Describe(), true, ProblemOf(*one)});
    }
  }
  for (const SchedulingPolicy& one : evidence.around->policies) {
    if (selecting.contains(one.Describe())) continue;
    if (one.of_cluster() && one.problems.empty()) continue;
    lines.push_back({one.Describe(), false, WhyNot(one)});
  }
  return lines;
}

}  // namespace plugin
