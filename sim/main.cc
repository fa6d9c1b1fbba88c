// SPDX-License-Identifier: Apache-2.0
// Runs simulations (README.md).
//
//   sim --seeds=100                     the seeds 1 to 100
//   sim --seeds=100 --first-seed=501
//   sim --minutes=30                    as many seeds as fit
//   sim --replay=plan.json              one plan, with everything that it broke
//   sim --replay=plan.json --shrink     ... and the smallest plan that breaks the same rule
//
// The exit code is 1 if something was found.
#include <gflags/gflags.h>
#include <glog/logging.h>

#include <chrono>
#include <cstdio>
#include <deque>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>

#include "sim/driver/isolated.h"
#include "sim/driver/make_plan.h"
#include "sim/driver/plan_file.h"

DEFINE_uint64(seeds, 20, "How many seeds to run.");
DEFINE_uint64(first_seed, 1, "The first of them.");
DEFINE_uint64(jobs, 2, "How many to run at a time.");

namespace {

struct Running {
  uint64_t seed;
  std::unique_ptr<sim::Isolated> run;
};

void Report(uint64_t seed, const sim::Outcome& outcome) {
  std::printf("seed %lu: %.0f s, %lu commits, %lu judged, hash %016lx, %zu violations\n", seed,
              outcome.virtual_seconds, outcome.commits, outcome.judged, outcome.hash,
              outcome.violations.size());
  for (const sim::checker::Violation& violation : outcome.violations)
    std::printf("  %s\n", sim::checker::Describe(violation).c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  google::InitGoogleLogging(argv[0]);
  sim::Outcome sum;
  std::deque<Running> running;
  for (uint64_t seed = FLAGS_first_seed;
       seed < FLAGS_first_seed + FLAGS_seeds || !running.empty();) {
    if (seed < FLAGS_first_seed + FLAGS_seeds && running.size() < FLAGS_jobs) {
      running.push_back({seed, std::make_unique<sim::Isolated>(sim::MakePlan(seed))});
      ++seed;
      continue;
    }
    sim::Outcome outcome = running.front().run->Wait();
    Report(running.front().seed, outcome);
    sim::Add(outcome, sum);
    running.pop_front();
  }
  return sum.failed() ? 1 : 0;
}
