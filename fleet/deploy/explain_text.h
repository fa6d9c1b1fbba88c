// SPDX-License-Identifier: Apache-2.0
// ExplainText: a debug answer about a Placement (fleet/hub/debug_answer.h) in words. Pure.
#pragma once

#include <set>
#include <string>

#include "kube/types/unstructured.h"

namespace fleet {

// One line for each cluster, or for `cluster` alone unless it is empty: selected or not, and why.
// `selected`: the clusters in the PlacementDecisions. "" if `answer` says nothing about `cluster`.
std::string ExplainText(const kube::Json& answer, const std::set<std::string>& selected,
                        const std::string& cluster);

}  // namespace fleet
