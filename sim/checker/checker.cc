// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/checker.h"

#include "sim/checker/attempt_rules.h"
#include "sim/checker/creation_model.h"
#include "sim/checker/gate_rules.h"
#include "sim/checker/operand_rules.h"
#include "sim/checker/rest.h"
#include "sim/checker/user_fields.h"

namespace sim::checker {

void Checker::Add(const Commit& commit) {
  ++commits_;
  if (commit.version <= last_version_) {
    violations_.push_back(
        At(commit, "commits", "the version is not higher than " + std::to_string(last_version_)));
  }
  last_version_ = commit.version;

  const Writer writer = WriterOf(commit.user, facts_);
  rights_.Check(commit, writer, violations_);
  CheckOperandPod(commit, violations_);
  CheckOperandTemplate(commit, writer, violations_);
  CheckAdmission(commit, history_.had_policies(), violations_);
  CheckGatesAdded(commit, history_, facts_, violations_);
  CheckGatesMissing(commit, history_, facts_, violations_);
  CheckPlacedAtCreation(commit, history_, facts_, judged_, violations_);
  configs_.Check(commit, writer, history_, violations_);
  announcements_.Add(commit, violations_);
  if (IsPodChange(commit)) CheckPod({commit, writer, *commit.before, *commit.after});
  if (at_rest_) CheckAtRest(commit, writer, *history_.cluster_config().Latest(), violations_);

  history_.Add(commit, writer);
  leftovers_.Add(commit, writer);
  finalizers_.Add(commit);
  leaders_.Add(commit, writer);
  statuses_.Add(commit);
  events_.Add(commit, writer);
}

void Checker::CheckPod(const PodChange& change) {
  CheckGateOrder(change, violations_);
  CheckGateWithDecision(change, violations_);
  CheckUserFields(change, history_.had_policies(), violations_);
  CheckErrorCount(change, violations_);
  CheckTeardownIsDue(change, history_, facts_, violations_);
  // A recording may begin after the pod was created.
  const PodLife* life = history_.LifeOf(change.commit.key);
  if (life == nullptr) return;
  CheckAttempts(change, *life, history_, facts_, violations_);
  CheckTakeover(change, *life, history_, facts_, violations_);
  CheckRelease(change, *life, history_, facts_, judged_, violations_);
}

void Checker::Finish(const EndOfRun& end, const EventCounters& counters) {
  CheckNoPodWaits(end, history_, facts_, violations_);
  leftovers_.Finish(end, history_, violations_);
  finalizers_.Finish(end, history_, violations_);
  statuses_.Finish(end, history_, violations_);
  events_.Finish(counters, end.at, violations_);
}

}  // namespace sim::checker
