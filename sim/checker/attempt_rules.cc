// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/attempt_rules.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <optional>
#include <string>

#include "api/names.h"
#include "sim/checker/gate_rules.h"
#include "sim/checker/user_fields.h"

namespace sim::checker {
namespace {

constexpr int kAttempts = 5;

std::optional<int> CountOf(const Json& pod) {
  std::string text = LabelOf(pod, api::kInspectErrorCountLabel);
  int count = 0;
  auto parsed = std::from_chars(text.data(), text.data() + text.size(), count);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != text.data() + text.size())
    return std::nullopt;
  return count;
}

std::string Seconds(Time time) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f s", std::chrono::duration<double>(time).count());
  return text;
}

// The shortest time that a process may measure as `period`.
Time ByFastestClock(Time period, const Facts& facts) {
  return std::chrono::duration_cast<Time>(period / facts.timing.fastest_clock);
}

auto ConfigsDuring(const PodChange& change, const PodLife& life, const History& history,
                   const Facts& facts) {
  return history.cluster_config().During(life.created - facts.timing.watch_lag,
                                         change.commit.version);
}

}  // namespace

void CheckErrorCount(const PodChange& change, Violations& violations) {
  if (!change.writer.Is(Program::kClusterController)) return;
  std::string before = LabelOf(change.before, api::kInspectErrorCountLabel);
  std::string after = LabelOf(change.after, api::kInspectErrorCountLabel);
  if (before == after) return;
  std::optional<int> was = CountOf(change.before), is = CountOf(change.after);
  // Whatever a user has written, the next count is one of the controller.
  bool grows = !was || *was > kAttempts || (is && *is > *was);
  if (!is || *is < 1 || *is > kAttempts || !grows) {
    violations.push_back(
        At(change.commit, "inspection",
           "the count of failed inspections went from \"" + before + "\" to \"" + after + "\""));
  }
}

void CheckAttempts(const PodChange& change, const PodLife& life, const History& history,
                   const Facts& facts, Violations& violations) {
  bool gives_up = change.writer.Is(Program::kClusterController) &&
                  change.Removes(api::kClusterGate) &&
                  HasLabel(change.after, api::kInspectErrorLabel) &&
                  !OnlyRemovesGates(change.before, change.after);
  // A pod that waited for the gates of others has had its attempts.
  if (!gives_up || life.first_decision || life.foreign_count) return;
  auto configs = ConfigsDuring(change, life, history, facts);
  if (std::any_of(configs.begin(), configs.end(),
                  [](const auto* config) { return (*config)->deleting; }))
    return;
  std::optional<int> count = CountOf(change.after);
  if (!count || *count != kAttempts) {
    violations.push_back(At(change.commit, "inspection",
                            "gave up after " + LabelOf(change.after, api::kInspectErrorCountLabel) +
                                " failed inspections, instead of 5"));
  }
  if (history.LeaderChanged(life.created, change.commit.at)) return;
  Time shortest = Time::max();
  for (const auto* config : configs) shortest = std::min(shortest, (*config)->retry_period);
  Time took = change.commit.at - life.created;
  if (took < ByFastestClock(shortest, facts)) {
    violations.push_back(
        At(change.commit, "inspection",
           "gave up after " + Seconds(took) + ", before the retry period of " + Seconds(shortest)));
  }
}

void CheckTakeover(const PodChange& change, const PodLife& life, const History& history,
                   const Facts& facts, Violations& violations) {
  if (!change.writer.Is(Program::kClusterController) || !change.Removes(api::kLocalGate)) return;
  // Not a takeover: a pod that is not placed loses all gates at once.
  if (OnlyRemovesGates(change.before, change.after)) return;
  Time shortest = Time::max();
  for (const auto* config : ConfigsDuring(change, life, history, facts))
    shortest = std::min(shortest, (*config)->takeover_after);
  Time waited = change.commit.at - life.created;
  if (waited < ByFastestClock(shortest, facts)) {
    violations.push_back(At(change.commit, "takeover",
                            "took the shard's work over after " + Seconds(waited) +
                                ", before the " + Seconds(shortest) + " of shardTakeoverAfter"));
  }
}

}  // namespace sim::checker
