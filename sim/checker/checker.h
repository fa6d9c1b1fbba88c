// SPDX-License-Identifier: Apache-2.0
// Checker: judges a run by the commits in the API server's store alone. It shares no code with the
// product but the names in api/names.h: what it expects is written from the documents.
//
//   sim::checker::Facts facts;    // filled while the run goes on
//   sim::checker::Checker checker(facts);
//   store.OnCommit([&](const auto& commit) { checker.Add(commit); });
//   ...
//   checker.BeginRest();          // everything is done, and nothing changes any more
//   checker.Finish(end, counters);
//   for (const sim::checker::Violation& violation : checker.violations()) ...
#pragma once

#include <cstdint>
#include <string>

#include "sim/checker/announcement_rules.h"
#include "sim/checker/config_rules.h"
#include "sim/checker/end_checks.h"
#include "sim/checker/event_ledger.h"
#include "sim/checker/finalizer_rules.h"
#include "sim/checker/history.h"
#include "sim/checker/leader_rules.h"
#include "sim/checker/release_model.h"
#include "sim/checker/rights.h"
#include "sim/checker/status_rules.h"
#include "sim/checker/violation.h"

namespace sim::checker {

class Checker {
 public:
  // `facts` outlives it. What is known of a time must be in it when a commit of that time is added.
  explicit Checker(const Facts& facts)
      : facts_(facts),
        history_(facts),
        rights_(facts),
        announcements_(facts),
        configs_(facts),
        finalizers_(facts),
        leaders_(facts),
        leftovers_(facts),
        statuses_(facts) {}

  // Each commit, in the order of versions.
  void Add(const Commit& commit);
  // Which process made a commit, if the recorder knows it; after Add(). `process`: see
  // leader_rules.h.
  void Wrote(uint64_t version, const std::string& process) {
    leaders_.Wrote(version, process, violations_);
  }
  // Now, as at the end: no pod waits without a reason. `faults_ended`: see EndOfRun.
  void CheckNobodyWaits(const EndOfRun& now) {
    CheckNoPodWaits(now, history_, facts_, violations_);
  }
  // From now on, the programs must not write.
  void BeginRest() { at_rest_ = true; }
  // Once, at the end.
  void Finish(const EndOfRun& end, const EventCounters& counters);

  const Violations& violations() const { return violations_; }
  const JudgedReleases& judged() const { return judged_; }
  uint64_t commits() const { return commits_; }
  const History& history() const { return history_; }

 private:
  void CheckPod(const PodChange& change);

  const Facts& facts_;
  History history_;
  RightsRule rights_;
  AnnouncementRules announcements_;
  ConfigRules configs_;
  FinalizerRules finalizers_;
  LeaderRules leaders_;
  Leftovers leftovers_;
  StatusRules statuses_;
  EventLedger events_;
  JudgedReleases judged_;
  Violations violations_;
  uint64_t commits_ = 0;
  uint64_t last_version_ = 0;
  bool at_rest_ = false;
};

}  // namespace sim::checker
