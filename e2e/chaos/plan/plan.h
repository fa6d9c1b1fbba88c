// SPDX-License-Identifier: Apache-2.0
// Plan: which faults a run has, and when. A function of the seed, so that a run can be repeated;
// what the processes do in the meantime differs from run to run.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace e2e {

// What a plan must know of a kind of fault.
struct FaultOutline {
  std::string name;
  // Faults of one area do not overlap, so that one does not end what another has begun.
  std::string area;
  std::chrono::milliseconds shortest, longest;
};

struct PlannedFault {
  std::string kind;
  // Since the start of the run.
  std::chrono::milliseconds begin, end;
  // Which one, of several processes or links: modulo their number.
  uint64_t pick = 0;

  bool operator==(const PlannedFault&) const = default;
};

struct PlanOptions {
  uint64_t seed = 1;
  // All faults have ended then.
  std::chrono::milliseconds length = std::chrono::minutes(3);
  // From one beginning to the next.
  std::chrono::milliseconds shortest_gap = std::chrono::seconds(2);
  std::chrono::milliseconds longest_gap = std::chrono::seconds(8);
  // Faults at one time.
  size_t most_at_once = 3;
};

// In the order of their beginnings. Every kind comes once before one comes twice, if there is time.
std::vector<PlannedFault> MakePlan(const std::vector<FaultOutline>& kinds,
                                   const PlanOptions& options);

}  // namespace e2e
