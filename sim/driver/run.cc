// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/run.h"

#include <algorithm>
#include <chrono>

#include "kube/metrics/metrics.h"
#include "kube/types/kinds.h"
#include "sim/driver/maker.h"
#include "sim/driver/operations.h"
#include "sim/driver/pod_traits.h"
#include "sim/driver/stage.h"
#include "sim/world/world.h"

namespace sim {
namespace {

using namespace std::chrono_literals;
using checker::Time;

// A container that was killed often starts after five minutes.
constexpr kube::Duration kRecovery = 10min;
// The bounds of the end checks (sim/checker/facts.h), and teardowns.
constexpr kube::Duration kSettle = 13min;
// With kSettle, longer than what the operator changes by time alone: it removes an announcement up
// to 14 minutes after its write, and then keeps a namespace with preferences for two and a half.
constexpr kube::Duration kProbe = 4min;
// Three times the longest shardTakeoverAfter of plans, and the longest inspectionRetryPeriod, with
// the slack of the end checks.
constexpr kube::Duration kHang = 215s;
constexpr kube::Duration kResume = 2min;
constexpr uint64_t kHangsOnceIn = 3;
constexpr kube::Duration kRest = 1min;

// Bounds of times, by what the plan breaks.
checker::Timing TimingOf(const Plan& plan) {
  checker::Timing timing;
  Time longest{};
  Time furthest_jump{};  // of the wall clock of a process
  bool breaks = false;
  for (const Step& step : plan.steps) {
    if (!FindOperation(step.operation)->is_fault) continue;
    breaks = true;
    if (auto found = step.with.find("for"); found != step.with.end())
      longest = std::max(longest, Time(std::chrono::seconds(found->get<int64_t>())));
    if (step.operation == "JumpClock")
      furthest_jump =
          std::max(furthest_jump, Time(std::chrono::seconds(step.with["seconds"].get<int64_t>())));
    if (auto found = step.with.find("percent"); found != step.with.end())
      timing.fastest_clock = std::max(timing.fastest_clock, found->get<double>() / 100);
  }
  if (!breaks) return timing;
  timing.watch_lag += longest + 60s;
  timing.admission_lag += 60s;
  timing.preferences_kept += 60s;
  timing.inspection_lag += longest;
  timing.rights_lag += longest;
  timing.known_tag += furthest_jump;
  timing.known_tag_of_always += furthest_jump;
  return timing;
}

void PlaySteps(const Plan& plan, Stage& stage, Outcome& outcome, const Tell& tell) {
  Loop& loop = stage.world().loop();
  for (const Step& step : plan.steps) {
    const Operation* operation = FindOperation(step.operation);
    ++outcome.operations[step.operation];
    loop.At(Loop::kBegin + step.at, [&stage, &step, &tell, operation] {
      if (tell) tell(DescribeStep(step));
      operation->apply(stage, step.with);
    });
  }
  loop.RunUntil(Loop::kBegin + plan.length);
}

// Passes time until every program runs.
void Recover(Stage& stage, Outcome& outcome) {
  stage.Heal();
  for (kube::Duration passed{}; !stage.IsCalm() && !stage.is_uninstalled() && passed < kRecovery;
       passed += 1s)
    stage.world().Pass(1s);
  if (stage.IsCalm() || stage.is_uninstalled()) return;
  outcome.violations.push_back(
      {"recovery", "programs",
       "not all run ten minutes after the last fault: " + stage.DescribeMissing(), 0, stage.now()});
}

// Pods of authors who do not know what happened before.
void Probe(Stage& stage) {
  for (const std::string& ns : Maker::Namespaces())
    stage.Create(kube::kPods, PodOf({ns, "probe"}, {"r.io/both:1"}, {"TeamRed"}));
}

// All shards hang: pods of their namespaces are released in their place (docs/protocol.md, T5).
void ProbeTakeovers(Stage& stage) {
  std::vector<Process*> shards = stage.cluster().Processes("shard/");
  std::erase_if(shards, [](Process* shard) { return shard->life() == nullptr; });
  if (shards.empty()) return;
  const Time begin = stage.now();
  for (Process* shard : shards) {
    shard->Pause();
    stage.Break(kHang, [shard] { shard->Resume(); });
  }
  for (const std::string& ns : Maker::Namespaces())
    stage.Create(kube::kPods, PodOf({ns, "orphan"}, {"r.io/both:1"}, {"TeamRed"}));
  stage.world().Pass(kHang - 1s);
  stage.feed().checker().CheckNobodyWaits({.at = stage.now(), .faults_ended = begin});
  stage.world().Pass(kResume);
}

// What all programs counted, those that have ended too.
checker::EventCounters CountEvents(World& world) {
  checker::EventCounters counters{.unacknowledged = world.faults().lost_answers()};
  for (Life* life : world.Lives()) {
    // kube/controller/controller_metrics.h
    kube::Metrics& metrics = life->metrics();
    counters.dropped += static_cast<uint64_t>(
        metrics.AddCounter("mto_ppo_ctrl_events_dropped_total", "As the program counts").Value());
    (life->ended() ? counters.lost_with_process : counters.waiting) += static_cast<uint64_t>(
        metrics.AddGauge("mto_ppo_ctrl_events_waiting", "As the program counts").Value());
  }
  return counters;
}

}  // namespace

Outcome Play(const Plan& plan, const Tell& tell) {
  Outcome outcome;
  Stage stage(plan, tell);
  stage.facts().timing = TimingOf(plan);
  PlaySteps(plan, stage, outcome, tell);
  Recover(stage, outcome);
  const Time faults_ended = stage.now();
  stage.world().Pass(kSettle);
  Probe(stage);
  stage.world().Pass(kProbe);
  if (plan.seed % kHangsOnceIn == 0 && !stage.is_uninstalled()) ProbeTakeovers(stage);
  checker::Checker& checker = stage.feed().checker();
  checker.BeginRest();
  stage.world().Pass(kRest);
  checker.Finish({.at = stage.now(), .faults_ended = faults_ended}, CountEvents(stage.world()));

  const auto& violations = checker.violations();
  outcome.violations.insert(outcome.violations.end(), violations.begin(), violations.end());
  outcome.hash = stage.feed().hash();
  outcome.virtual_seconds = std::chrono::duration<double>(stage.now()).count();
  outcome.commits = checker.commits();
  outcome.handlers = stage.world().loop().handlers();
  outcome.accepted = stage.accepted();
  outcome.refused = stage.refused();
  outcome.judged = checker.judged().judged;
  outcome.bare = checker.judged().bare;
  outcome.at_creation = checker.judged().at_creation;
  for (const auto& [reason, count] : checker.judged().not_judged)
    outcome.not_judged[reason] += count;
  return outcome;
}

}  // namespace sim
