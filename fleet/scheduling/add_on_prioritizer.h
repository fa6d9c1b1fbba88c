// SPDX-License-Identifier: Apache-2.0
// AddOn: one score of the AddOnPlacementScores that add-ons and agents write for their cluster. A
// score that is missing or expired counts as 0; expired ones are in the warning.
#pragma once

#include <string>
#include <utility>

#include "fleet/scheduling/prioritizer.h"

namespace fleet {

class AddOnPrioritizer final : public Prioritizer {
 public:
  explicit AddOnPrioritizer(AddOnScore score) : score_(std::move(score)) {}

  std::string name() const override { return "AddOn/" + score_.resource + "/" + score_.score; }
  PrioritizerReads reads() const override { return {.score = score_}; }
  ClusterScores Score(const ScoreInput& input) const override;

 private:
  const AddOnScore score_;
};

}  // namespace fleet
