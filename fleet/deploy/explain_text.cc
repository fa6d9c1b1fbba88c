// SPDX-License-Identifier: Apache-2.0
#include "fleet/deploy/explain_text.h"

#include <cstdint>

#include "kube/types/list_at.h"

namespace fleet {

using kube::Json;

namespace {

// "Balance 100 x 1, Steady 0 x 2"
std::string ScoresOf(const Json& answer, const std::string& cluster) {
  std::string text;
  for (const Json& prioritizer : kube::ListAt(answer, "prioritizeResults")) {
    const Json& scores = kube::ObjectAt(prioritizer, "scores");
    auto score = scores.find(cluster);
    if (score == scores.end() || !score->is_number_integer()) continue;
    if (!text.empty()) text += ", ";
    text += kube::StringAt(prioritizer, "name") + " " + std::to_string(score->get<int64_t>()) +
            " x " + std::to_string(kube::IntAt(prioritizer, "weight"));
  }
  return text;
}

}  // namespace

std::string ExplainText(const Json& answer, const std::set<std::string>& selected,
                        const std::string& cluster) {
  std::string text;
  const Json& ranking = kube::ListAt(answer, "aggregatedScores");
  size_t rank = 0;
  for (const Json& entry : ranking) {
    ++rank;
    std::string name = kube::StringAt(entry, "clusterName");
    if (!cluster.empty() && name != cluster) continue;
    const bool is_selected = selected.contains(name);
    std::string scores = ScoresOf(answer, name);
    text += name + ": " + (is_selected ? "selected" : "not selected") + ", rank " +
            std::to_string(rank) + " of " + std::to_string(ranking.size()) + " by score " +
            std::to_string(kube::IntAt(entry, "score")) +
            (scores.empty() ? "" : " (" + scores + ")");
    // Spread constraints and the number of clusters decide among those that pass all filters.
    if (!is_selected) text += "; " + std::to_string(selected.size()) + " others are selected";
    text += "\n";
  }
  for (const Json& entry : kube::ListAt(answer, "rejected")) {
    std::string name = kube::StringAt(entry, "clusterName");
    if (!cluster.empty() && name != cluster) continue;
    text += name + ": " +
            (selected.contains(name) ? "still selected, and now rejected by " : "rejected by ") +
            kube::StringAt(entry, "by") + ": " + kube::StringAt(entry, "why") + "\n";
  }
  return text;
}

}  // namespace fleet
