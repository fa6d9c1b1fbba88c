// SPDX-License-Identifier: Apache-2.0
// PolicyCoverage: in which namespaces the API server calls the policy webhook. Pure.
//
// Policies come and go more often than the namespaces that have some, so a change of a policy
// rarely changes the webhook configuration.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace operator_ {

// With more namespaces than this, the API server calls the webhook for all.
inline constexpr size_t kMaxCoveredNamespaces = 500;
// A larger namespaceSelector counts as one that selects all namespaces, as an object has a limited
// size.
inline constexpr size_t kMaxCoveredSelector = 16 << 10;

// The policies that can select a pod, counted.
struct PolicyTargets {
  // PodSchedulingPolicies by namespace.
  std::map<std::string, size_t> namespaces;
  // ClusterPodSchedulingPolicies by their namespaceSelector, as JSON; "" if that is too large.
  std::map<std::string, size_t> selectors;

  bool empty() const { return namespaces.empty() && selectors.empty(); }
};

struct PolicyCoverage {
  bool everywhere = false;
  // Unless `everywhere`: of PodSchedulingPolicies.
  std::set<std::string> namespaces;
  // Unless `everywhere`: that of all ClusterPodSchedulingPolicies, as JSON; "" if there are none.
  std::string selector;

  bool operator==(const PolicyCoverage&) const = default;
};

PolicyCoverage CoverageOf(const PolicyTargets& targets);

// `ns`: of a PodSchedulingPolicy. `selector`: of a ClusterPodSchedulingPolicy, as in PolicyTargets.
inline bool CoversNamespace(const PolicyCoverage& coverage, const std::string& ns) {
  return coverage.everywhere || coverage.namespaces.contains(ns);
}
inline bool CoversSelector(const PolicyCoverage& coverage, std::string_view selector) {
  return coverage.everywhere || (!selector.empty() && coverage.selector == selector);
}

}  // namespace operator_
