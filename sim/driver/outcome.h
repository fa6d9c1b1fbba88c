// SPDX-License-Identifier: Apache-2.0
// Outcome: what a run found, and what it consisted of.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "kube/types/unstructured.h"
#include "sim/checker/violation.h"

namespace sim {

struct Outcome {
  checker::Violations violations;
  // Of all commits.
  uint64_t hash = 0;
  double virtual_seconds = 0;
  uint64_t commits = 0;
  // Handlers of processes that ran.
  uint64_t handlers = 0;
  // Operation -> how often it was played.
  std::map<std::string, uint64_t> operations;
  // Of the calls that operations made.
  uint64_t accepted = 0, refused = 0;
  // Releases of pods: judged, only released, and reason -> not judged.
  uint64_t judged = 0, bare = 0, at_creation = 0;
  std::map<std::string, uint64_t> not_judged;

  bool failed() const { return !violations.empty(); }
  bool operator==(const Outcome&) const = default;
};

kube::Json OutcomeToJson(const Outcome& outcome);
// Of what OutcomeToJson() made.
Outcome OutcomeFromJson(const kube::Json& json);

// Adds the numbers of `one` to `sum`; the violations, too.
void Add(const Outcome& one, Outcome& sum);

}  // namespace sim
