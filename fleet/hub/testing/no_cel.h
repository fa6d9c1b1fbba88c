// SPDX-License-Identifier: Apache-2.0
// NoCel: for tests without an evaluator. No expression compiles, unless a test says otherwise.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fleet/hub/placement_cel.h"
#include "fleet/scheduling/cel_selectors.h"

namespace fleet {

class NoCel final : public PlacementCel, public CelSelectors {
 public:
  bool Prepare() override { return prepared; }
  bool Busy(const std::string&) const override { return busy; }
  CelSelectors& Begin(const std::string&) override { return *this; }
  cel::Questions TakeQuestions() override {
    cel::Questions taken;
    if (questions > 0) {
      --questions;
      taken.clusters.insert("c1");
    }
    return taken;
  }
  std::string TakeRefusal() override { return refusal; }
  kube::Async<kube::Duration> Answer(cel::Questions) override { co_return answer; }

  std::optional<std::string> Check(const std::string&) override {
    if (compiles) return std::nullopt;
    return "no CEL here";
  }
  Verdict Matches(const std::vector<std::string>&, const std::string&) override { return {}; }

  bool prepared = true;
  bool busy = false;
  bool compiles = false;
  int questions = 0;  // passes that have one
  std::string refusal;
  kube::Result<kube::Duration> answer = kube::Duration::zero();
};

}  // namespace fleet
