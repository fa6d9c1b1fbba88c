// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/decision_events.h"

#include <algorithm>
#include <string_view>

namespace fleet {
namespace {

// An event has 1,024 bytes for its message.
constexpr size_t kMaxScores = 1'000;
constexpr std::string_view kCut = "......";
constexpr size_t kMaxNames = 3;
constexpr size_t kMaxWarnings = 3;

// "Decision a is created with placement p in namespace ns", or "Decisions a, b and 7 more are ...".
std::string Sentence(const std::vector<std::string>& names, std::string_view done,
                     const kube::ObjectKey& placement) {
  std::string text = names.size() == 1 ? "Decision " : "Decisions ";
  size_t listed = std::min(names.size(), kMaxNames);
  for (size_t i = 0; i < listed; ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > listed) text += " and " + std::to_string(names.size() - listed) + " more";
  text += names.size() == 1 ? " is " : " are ";
  return text + std::string(done) + " with placement " + placement.name + " in namespace " +
         placement.ns;
}

// "c1:100 c2:0 "
std::string Scores(const std::vector<std::pair<std::string, int64_t>>& totals) {
  std::string text;
  for (const auto& [cluster, total] : totals) {
    std::string entry = cluster + ":" + std::to_string(total) + " ";
    if (text.size() + entry.size() > kMaxScores) return text + std::string(kCut);
    text += entry;
  }
  return text;
}

// "a; b; c; and 2 more"
std::string Warnings(const std::vector<std::string>& warnings) {
  std::string text;
  size_t listed = std::min(warnings.size(), kMaxWarnings);
  for (size_t i = 0; i < listed; ++i) text += (i == 0 ? "" : "; ") + warnings[i];
  if (warnings.size() > listed)
    text += "; and " + std::to_string(warnings.size() - listed) + " more";
  return text;
}

}  // namespace

std::vector<DecisionEvent> EventsOf(const kube::ObjectKey& placement,
                                    const DecisionChanges& changes) {
  std::vector<DecisionEvent> events;
  if (!changes.created.empty())
    events.push_back({false, "DecisionCreate", Sentence(changes.created, "created", placement)});
  if (!changes.updated.empty()) {
    std::string text = Sentence(changes.updated, "updated", placement);
    if (!changes.warnings.empty()) text += ": " + Warnings(changes.warnings);
    events.push_back({!changes.warnings.empty(), "DecisionUpdate", std::move(text)});
  }
  if (!changes.deleted.empty())
    events.push_back({false, "DecisionDelete", Sentence(changes.deleted, "deleted", placement)});
  if (!events.empty() && !changes.totals.empty())
    events.push_back({false, "ScoreUpdate", Scores(changes.totals)});
  if (changes.updated.empty() && !changes.warnings.empty() && !changes.warned_before)
    events.push_back({true, "ScoresExpired", Warnings(changes.warnings)});
  return events;
}

}  // namespace fleet
