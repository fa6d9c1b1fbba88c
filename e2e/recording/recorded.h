// SPDX-License-Identifier: Apache-2.0
// Recorded: a part of a run of real processes, as the recorder hands it out and the judge reads it.
#pragma once

#include <string>
#include <vector>

#include "sim/checker/commit.h"

namespace e2e {

// What the recorder may have missed: between these times, changes of the kind may be absent from
// the commits. The judge guesses nothing about it.
struct Gap {
  // "" for the core group.
  std::string group, plural;
  sim::checker::Time from{}, to{};
  // For people: "410: the resourceVersion 17 is too old".
  std::string why;
};

// A write of a pod that an API server refused: by a policy, a quota or its own validation.
struct Refused {
  std::string user;
  kube::ObjectKey pod;
  sim::checker::Time at{};
};

struct Recorded {
  // By ascending version. The first state of an object that existed before the recording has no
  // `before`. A commit without `user`: the audit log does not name the writer.
  std::vector<sim::checker::Commit> commits;
  std::vector<Gap> gaps;
  std::vector<Refused> refused;
};

}  // namespace e2e
