// SPDX-License-Identifier: Apache-2.0
// Judge: applies sim/checker to what was recorded of real processes. It reports the rules that hold
// for sure on a real cluster (README.md); what it cannot know, it counts as not judged.
//
//   Judge judge(facts);
//   judge.Add(recorder.Take());        // as often as wanted, in order
//   Verdict verdict = judge.Take();    // of what was added since the last Take()
//   EXPECT_TRUE(verdict.violations.empty()) << verdict.Describe();
//   EXPECT_GT(verdict.pods_judged, 0);
//
//   Verdict verdict = JudgeRun(recorder.Take(), facts);   // a whole run at once
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "e2e/recording/recorded.h"
#include "sim/checker/facts.h"
#include "sim/checker/violation.h"

namespace e2e {

// The rules that are reported; see README.md for those that are not, and why.
std::set<std::string> RulesOfRealRuns();

struct JudgeOptions {
  std::set<std::string> rules = RulesOfRealRuns();
};

// What a test does on purpose.
struct Expected {
  // As in Violation: "I5".
  std::string rule;
  // A part of Violation::text, and of Violation::object.
  std::string text, object;
  // For people.
  std::string why;
};

// A violation with what happened to its object, for people.
struct Finding {
  sim::checker::Violation violation;
  // One line for each commit of the object: time, version, writer, what changed.
  std::vector<std::string> story;
};

struct Verdict {
  std::vector<Finding> violations;
  uint64_t commits = 0;
  // Pods that a program of the product wrote, with every write judged.
  uint64_t pods_judged = 0;
  // Reason -> pods that a program of the product wrote, of which a part was not judged.
  std::map<std::string, uint64_t> not_judged;
  // Rule -> violations that are not reported, because the rule is not applied to real runs.
  std::map<std::string, uint64_t> not_applied;
  // Why -> violations that were expected.
  std::map<std::string, uint64_t> expected;
  // What the recorder may have missed.
  std::vector<Gap> gaps;

  // The violations with their stories, and the counts.
  std::string Describe() const;
  // The counts alone, on one line.
  std::string Summary() const;
};

class Judge {
 public:
  explicit Judge(sim::checker::Facts facts, JudgeOptions options = {});
  ~Judge();

  // What is known of the world so far; may be changed between calls of Add().
  sim::checker::Facts& facts();
  void Add(const Recorded& recorded);
  // Violations like this one are counted and not reported, until the next Take().
  void Expect(Expected expected);
  // What was found since the last call.
  Verdict Take();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Of one recording.
Verdict JudgeRun(const Recorded& recorded, sim::checker::Facts facts, JudgeOptions options = {});

}  // namespace e2e
