// SPDX-License-Identifier: Apache-2.0
// PodStory: a pod's way through gates and scheduler, told to a person, one line a turn.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "e2e/framework/pod_history.h"

namespace e2e {

// What happened between two states of a pod, in the order in which it matters; nothing for changes
// that are no news. `before` is null for a pod that was just created. `node_architectures`: node ->
// architecture.
std::vector<std::string> TurnsBetween(const Json& before, const Json& after,
                                      const std::map<std::string, std::string>& node_architectures);

// Where a pod may and would like to go, for the verdict.
struct Expectation {
  std::vector<std::string> supported;  // by its image
  std::vector<std::string> preferred;  // of the supported ones, those with the highest weight
};
Expectation ExpectationOf(const Json& pod);

// What to think of where a pod is. A preference is the scheduler's to weigh: only a broken
// requirement is wrong.
struct Verdict {
  bool good = false;
  std::string text;
};
// `pods`: all of them, for the replicas beside `pod`. `node_architectures`: node -> architecture.
Verdict VerdictOn(const Json& pod, const std::vector<Json>& pods,
                  const std::map<std::string, std::string>& node_architectures);

// "arm64:100, ppc64le:40"; "-" for none.
std::string PreferencesText(const Json& pod);
// "amd64|arm64"; "-" for none.
std::string RequirementText(const Json& pod);

}  // namespace e2e
