// SPDX-License-Identifier: Apache-2.0
// DebugAnswer: why a pass selected the clusters that it selected, as OCM's debug endpoint says it,
// and for each rejected cluster the filter and the reason. Pure.
//
//   {"placement": {...}, "filteredPipelineResults": [{"name", "filteredClusters": [...]}],
//    "prioritizeResults": [{"name", "weight", "scores": {CLUSTER: SCORE}}],
//    "aggregatedScores": [{"clusterName", "score"}], "rejected": [{"clusterName", "by", "why"}]}
//
// A misconfigured Placement has "error" instead of results.
#pragma once

#include "fleet/api/placement.h"
#include "fleet/scheduling/schedule.h"
#include "kube/types/unstructured.h"

namespace fleet {

// "placement" has of `placement` its metadata only. The aggregated scores are in the order of
// ranking, all else in that of names.
kube::Json DebugAnswer(const Placement& placement, const Scheduled& scheduled);

}  // namespace fleet
