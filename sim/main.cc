// SPDX-License-Identifier: Apache-2.0
// Runs simulations (README.md).
//
//   sim --seeds=100                         the seeds 1 to 100
//   sim --seeds=100 --first_seed=501
//   sim --minutes=30                        as many seeds as fit
//   sim --seeds=500 --stop                  until one fails
//   sim --replay=plan.json                  one plan
//   sim --replay=plan.json --trace          ... with its steps and commits on stderr
//   sim --replay=plan.json --shrink         ... and the smallest plan that breaks the same rule
//
// The exit code is 1 if something was found, and 2 for flags that are wrong.
#include <gflags/gflags.h>
#include <glog/logging.h>

#include <chrono>
#include <cstdio>
#include <deque>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "sim/driver/isolated.h"
#include "sim/driver/make_plan.h"
#include "sim/driver/plan_file.h"
#include "sim/driver/report.h"
#include "sim/driver/run.h"
#include "sim/driver/shrink.h"

DEFINE_uint64(seeds, 20, "The number of seeds to run.");
DEFINE_uint64(first_seed, 1, "The first seed.");
DEFINE_double(minutes, 0, "Run seeds for so long, instead of --seeds.");
DEFINE_bool(stop, false, "End with the first seed that fails.");
DEFINE_uint64(jobs, 2, "The number of concurrent runs.");
DEFINE_string(replay, "", "A file with a plan to run instead of seeds.");
DEFINE_bool(trace, false, "With --replay: write steps and commits to stderr.");
DEFINE_bool(shrink, false, "Shrink the plan of --replay, or of the first seed that fails.");
DEFINE_int32(shrink_runs, 300, "The number of runs that shrinking may take.");
DEFINE_string(failures, "/tmp", "The folder for the plans of seeds that fail.");

namespace {

using Clock = std::chrono::steady_clock;

void Write(const std::string& file, const sim::Plan& plan) {
  std::ofstream(file) << sim::FormatPlan(plan);
  std::cout << "  replay with: make sim REPLAY=" << file << std::endl;
}

// The smallest plan that breaks the rule of the first violation.
void ShrinkTo(const std::string& file, const sim::Plan& plan, const sim::Outcome& outcome) {
  const std::string rule = outcome.violations.front().rule;
  std::cout << "shrinking by rule " << rule << std::endl;
  const sim::Shrunk shrunk = sim::Shrink(plan,
                                         [&rule](const sim::Plan& smaller) {
                                           const sim::Outcome found = sim::PlayIsolated(smaller);
                                           for (const auto& violation : found.violations) {
                                             if (violation.rule == rule) return true;
                                           }
                                           return false;
                                         },
                                         {.runs = FLAGS_shrink_runs});
  std::cout << shrunk.plan.steps.size() << " of " << plan.steps.size() << " steps are left after "
            << shrunk.runs << " runs" << std::endl;
  std::cout << "  " << sim::DescribeRun(sim::PlayIsolated(shrunk.plan));
  Write(file, shrunk.plan);
}

int Replay() {
  kube::Result<sim::Plan> plan = sim::ReadPlan(FLAGS_replay);
  if (!plan) {
    std::cerr << plan.error() << "\n";
    return 2;
  }
  if (FLAGS_trace) {
    sim::Play(*plan, [](const std::string& line) { std::cerr << line << "\n"; });
  }
  const sim::Outcome outcome = sim::PlayIsolated(*plan);
  std::cout << sim::DescribeRun(outcome) << sim::DescribeSum(outcome, 1);
  if (outcome.failed() && FLAGS_shrink) ShrinkTo(FLAGS_replay + ".shrunk", *plan, outcome);
  return outcome.failed() ? 1 : 0;
}

struct Running {
  uint64_t seed;
  std::unique_ptr<sim::Isolated> run;
};

int RunSeeds() {
  const Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double, std::ratio<60>>(FLAGS_minutes));
  uint64_t next = FLAGS_first_seed, runs = 0;
  auto begins = [&] {
    return FLAGS_minutes > 0 ? Clock::now() < end : next < FLAGS_first_seed + FLAGS_seeds;
  };
  sim::Outcome sum;
  std::optional<std::pair<uint64_t, sim::Outcome>> failed;
  std::deque<Running> running;
  while (true) {
    while (running.size() < FLAGS_jobs && begins()) {
      running.push_back({next, std::make_unique<sim::Isolated>(sim::MakePlan(next))});
      ++next;
    }
    if (running.empty()) break;
    const uint64_t seed = running.front().seed;
    const sim::Outcome outcome = running.front().run->Wait();
    running.pop_front();
    ++runs;
    sim::Add(outcome, sum);
    std::cout << "seed " << seed << ": " << sim::DescribeRun(outcome) << std::flush;
    if (!outcome.failed()) continue;
    Write(FLAGS_failures + "/sim-" + std::to_string(seed) + ".json", sim::MakePlan(seed));
    if (!failed) failed.emplace(seed, outcome);
    if (FLAGS_stop) break;
  }
  std::cout << sim::DescribeSum(sum, runs) << std::flush;
  if (failed && FLAGS_shrink) {
    const auto& [seed, outcome] = *failed;
    ShrinkTo(FLAGS_failures + "/sim-" + std::to_string(seed) + "-shrunk.json", sim::MakePlan(seed),
             outcome);
  }
  return sum.failed() ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  google::InitGoogleLogging(argv[0]);
  return FLAGS_replay.empty() ? RunSeeds() : Replay();
}
