// SPDX-License-Identifier: Apache-2.0
// WritePace: how often the hub writes to one object. Another client may revert each write, such as
// a tool that applies files: then the hub continues at this pace and not at the pace of the events.
// No I/O.
#pragma once

#include <string>
#include <unordered_map>

#include "kube/base/clock.h"

namespace fleet {

class WritePace {
 public:
  static constexpr int kWrites = 10;
  static constexpr std::chrono::minutes kWindow{1};

  // `clock` outlives this.
  explicit WritePace(kube::Clock& clock) : clock_(clock) {}

  // Zero: the write is counted and may be made. Else how long it has to wait.
  kube::Duration Take(const std::string& object);
  void Forget(const std::string& object) { windows_.erase(object); }

 private:
  struct Window {
    kube::TimePoint begin;
    int writes = 0;
  };

  kube::Clock& clock_;
  std::unordered_map<std::string, Window> windows_;
};

}  // namespace fleet
