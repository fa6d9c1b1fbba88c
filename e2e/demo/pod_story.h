// SPDX-License-Identifier: Apache-2.0
// PodStory: the steps of a pod through gates and scheduler, as text for the demo.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "e2e/framework/pod_history.h"

namespace e2e {

// One line for each gate that was removed and for scheduling between two states of a pod; empty for
// other changes. `before` is null for a new pod. `node_architectures`: node -> architecture.
std::vector<std::string> StepsBetween(const Json& before, const Json& after,
                                      const std::map<std::string, std::string>& node_architectures);

// The architectures that a pod may run on and prefers.
struct Expectation {
  std::vector<std::string> supported;  // by its images
  std::vector<std::string> preferred;  // the supported architectures with the highest weight
};
Expectation ExpectationOf(const Json& pod);

// Whether a pod is on a supported architecture. Preferences are only weights for the scheduler: a
// node that is not preferred is not an error.
struct Verdict {
  bool good = false;
  std::string text;
};
// `pods`: all pods, to find other replicas. `node_architectures`: node -> architecture.
Verdict VerdictOn(const Json& pod, const std::vector<Json>& pods,
                  const std::map<std::string, std::string>& node_architectures);

// "arm64:100, ppc64le:40"; "-" for none.
std::string PreferencesText(const Json& pod);
// "amd64|arm64"; "-" for none.
std::string RequirementText(const Json& pod);
// The values of the tolerated architecture taints, "amd64|arm64"; "-" for none.
std::string TolerationsText(const Json& pod);

// The node with the taint kubernetes.io/arch=ARCHITECTURE:NoSchedule; "" for none.
std::string TaintedNodeOf(const std::vector<Json>& nodes);

}  // namespace e2e
