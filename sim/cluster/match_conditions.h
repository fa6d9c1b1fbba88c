// SPDX-License-Identifier: Apache-2.0
// MatchConditions: the conditions that the operator writes, which an API server evaluates in CEL.
// There is no CEL here: each condition is known by its name, and its parameters are the strings of
// its expression.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/testing/fake_admission.h"
#include "kube/types/unstructured.h"

namespace sim {

// `condition`: an entry of matchConditions; `object`: as earlier webhooks have changed it. An
// unknown name ends the program: it has to be added here.
bool Holds(const kube::Json& condition, const kube::AdmissionAttributes& asked,
           const kube::Json& object);

// The strings in single quotes in `cel`, in order.
std::vector<std::string> QuotedIn(const std::string& cel);

// A rule of a PodPlacementConfig, as the API server gets it (operator/rules/restricted.h). It
// matches the pods whose annotation "kind" is the expression.
bool RuleMatches(const std::string& restricted, const kube::Json& pod);

// What conditions and policies find in a pod.
bool HasGate(const kube::Json& pod, std::string_view name);
// The images of its containers, separated by commas.
std::string ImagesOf(const kube::Json& pod);
bool RequiresArchitecture(const kube::Json& pod);
bool PrefersArchitecture(const kube::Json& pod);

}  // namespace sim
