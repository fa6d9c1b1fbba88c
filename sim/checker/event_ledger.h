// SPDX-License-Identifier: Apache-2.0
// EventLedger: no event is lost but those that are counted, and none is sent twice. Each write that
// removes a gate has an event ArchAwareSchedGateRemovalSuccess of its pod; what is missing at the
// end must be in the counters of the programs, or in a process that was killed. A pod has at most
// one such event for each gate that a program removed.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "sim/checker/pod_fields.h"
#include "sim/checker/violation.h"

namespace sim::checker {

// Events that the commits need not show, of all programs.
struct EventCounters {
  // mto_ppo_ctrl_events_dropped_total and mto_ppo_ctrl_events_waiting.
  uint64_t dropped = 0;
  uint64_t waiting = 0;
  // In the queues of processes that were killed.
  uint64_t lost_with_process = 0;
  // The versions of commits whose writer got no answer: it does not know that it removed a gate.
  std::set<uint64_t> unacknowledged = {};
};

class EventLedger {
 public:
  void Add(const Commit& commit, const Writer& writer);
  void Finish(const EventCounters& counters, Time end, Violations& violations) const;

 private:
  struct OfPod {
    std::string name;
    std::set<uint64_t> releases;
    // The gates that programs with events have removed.
    uint64_t gates = 0;
    uint64_t events = 0;
    // All of its commits were seen.
    bool whole = false;
  };
  void FindRepeated(Time end, Violations& violations) const;

  std::map<std::string, OfPod> pods_;  // by uid
};

}  // namespace sim::checker
