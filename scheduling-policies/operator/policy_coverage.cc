// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/operator/policy_coverage.h"

namespace operator_ {

PolicyCoverage CoverageOf(const PolicyTargets& targets) {
  PolicyCoverage coverage;
  coverage.everywhere = targets.selectors.size() > 1 || targets.selectors.contains("") ||
                        targets.selectors.contains("{}") ||
                        targets.namespaces.size() > kMaxCoveredNamespaces;
  if (coverage.everywhere) return coverage;
  if (!targets.selectors.empty()) coverage.selector = targets.selectors.begin()->first;
  for (const auto& [ns, count] : targets.namespaces) coverage.namespaces.insert(ns);
  return coverage;
}

}  // namespace operator_
