// SPDX-License-Identifier: Apache-2.0
// Doubts: which commits of a recording cannot be judged, or only by rules that read one change
// alone, because something before them is not known.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "e2e/recording/recorded.h"

namespace e2e {

struct Doubt {
  // "": every rule applies.
  std::string reason;
  // Not even a rule about this change alone applies: its `before` may be older than the change, or
  // its writer is not known.
  bool of_change = false;
};

class Doubts {
 public:
  // Before the commits of the same part.
  void Add(const std::vector<Gap>& gaps);
  // In their order, each once. Whether the commit can be judged.
  Doubt Of(const sim::checker::Commit& commit);

 private:
  using Time = sim::checker::Time;
  using Kind = std::pair<std::string, std::string>;                  // group, plural
  using Id = std::tuple<std::string, std::string, kube::ObjectKey>;  // group, plural, key
  struct Life {
    Time first{}, latest{};
    // Why its history is not known; "" if it is.
    std::string unknown;
  };

  // A gap of the kind that touches the time.
  const Gap* GapDuring(const Kind& kind, Time from, Time to) const;
  // The same for kinds that a decision may depend on.
  const Gap* ContextGapDuring(Time from, Time to) const;

  std::map<Kind, std::vector<Gap>> gaps_;
  std::map<Id, Life> lives_;
};

}  // namespace e2e
