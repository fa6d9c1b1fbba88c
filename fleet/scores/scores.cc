// SPDX-License-Identifier: Apache-2.0
#include "fleet/scores/scores.h"

#include <algorithm>
#include <cstdlib>

#include "api/names.h"

namespace fleet {
namespace {

constexpr int64_t kPercent = 100;

// 100*part/whole, towards zero, at most 100.
int32_t Percentage(int64_t part, int64_t whole) {
  if (whole <= 0) return 0;
  return static_cast<int32_t>(std::min(kPercent, kPercent * part / whole));
}

int32_t ValueOr0(const Scores& scores, const std::string& name) {
  auto found = scores.find(name);
  return found == scores.end() ? 0 : found->second;
}

bool Moved(const Scores& from, const Scores& to) {
  return std::any_of(to.begin(), to.end(), [&](const auto& score) {
    return std::abs(int64_t{score.second} - ValueOr0(from, score.first)) >= kScoreMove;
  });
}

}  // namespace

Scores ScoresOf(const UsageSums& sums, const ScoreOptions& options) {
  Scores scores;
  for (size_t i = 0; i < kScoredArchitectures.size(); ++i) {
    const ArchitectureSums& of = sums.architectures[i];
    if (of.nodes == 0 && of.runnable_workloads == 0) continue;
    std::string prefix = std::string(kScoredArchitectures[i]) + ".";
    scores[prefix + "cpu"] = Percentage(of.free.milli_cpu, options.full.milli_cpu);
    scores[prefix + "memory"] = Percentage(of.free.kib, options.full.kib);
    scores[prefix + "share"] = Percentage(of.allocatable.milli_cpu, sums.allocatable_cpu);
    scores[prefix + "runnable"] = Percentage(of.runnable_workloads, sums.workloads);
  }
  return scores;
}

std::map<std::string, std::string> ClaimsOf(const UsageSums& sums) {
  std::map<std::string, std::string> claims;
  for (size_t i = 0; i < kScoredArchitectures.size(); ++i) {
    if (sums.architectures[i].nodes == 0) continue;
    claims[std::string(kScoredArchitectures[i]) + "." + std::string(api::kGroup)] = "true";
  }
  return claims;
}

WriteDecision DecideWrite(const StoredScores* stored, const Scores& scores, kube::WallTime now) {
  if (stored == nullptr || !stored->valid_until) return {.write = true};
  kube::WallTime half = *stored->valid_until - kScoresValidity / 2;
  // Valid for longer than this agent writes: by another program, or before the clock was set back.
  bool too_long = *stored->valid_until > now + kScoresValidity;
  if (now >= half || too_long || Moved(stored->scores, scores) || Moved(scores, stored->scores))
    return {.write = true};
  return {.look_again = half};
}

}  // namespace fleet
