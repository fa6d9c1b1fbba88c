// SPDX-License-Identifier: Apache-2.0
// Specs of policies, as JSON, that are refused and that are accepted: for tests of the code and of
// the CRDs, and to compare both with what the API server refuses in a pod.
#pragma once

#include <string>
#include <vector>

namespace policy {

struct WrongSpec {
  std::string spec;
  std::string field;    // part of the path in the problem
  std::string message;  // part of its message
  // The API server refuses a pod with these criteria.
  bool in_pod = true;
  // The CRD refuses the policy. The keys of maps are checked by the code alone.
  bool by_crd = true;
};

std::vector<WrongSpec> WrongSpecs();
std::vector<std::string> RightSpecs();

// Specs with one criterion: `terms` of the required affinity `kind` ("podAffinity"), the
// nodeSelectorTerms `terms`, or one item of a list.
std::string AffinitySpec(const std::string& kind, const std::string& terms);
std::string RequiredSpec(const std::string& terms);
std::string ExpressionSpec(const std::string& expression);
std::string FieldSpec(const std::string& field);
std::string PodTermSpec(const std::string& term);
std::string TolerationSpec(const std::string& toleration);

}  // namespace policy
