// SPDX-License-Identifier: Apache-2.0
// I4: the model of what a write that decides about a pod makes of it. From the documents alone, it
// computes the set of allowed results, and finds the write in it.
//
// A write carries the resourceVersion of the pod that was decided on, so the decision is about
// `before`, with the configurations and images as a program may have known them since the pod was
// created. Where none of them changed, exactly one result is allowed.
//
// Where parts that are not modelled yet would come in:
//   CEL rules: PreferenceSource (preference_model.h), from a truth like ImageTruth;
//   scheduling policies: additions to `before`, before everything else;
//   templates: the same Require() and TolerationsFor() on the template of a Job or DaemonSet.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "sim/checker/gating_model.h"

namespace sim::checker {

// What was judged, so that a model that judges nothing is noticed.
struct JudgedReleases {
  size_t judged = 0;
  // Of these, pods that were placed at their creation (creation_model.h).
  size_t at_creation = 0;
  // Only released, as documented: ignored, torn down, or after a refused write.
  size_t bare = 0;
  // Reason -> number of writes of which a part was not judged.
  std::map<std::string, size_t> not_judged;
};

// Judges a write by a program of the product that removes a gate, or that decides about a pod with
// gates of other controllers. `history`: before the commit.
void CheckRelease(const PodChange& change, const PodLife& life, const History& history,
                  const Facts& facts, JudgedReleases& judged, Violations& violations);

}  // namespace sim::checker
