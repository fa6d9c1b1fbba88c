// SPDX-License-Identifier: Apache-2.0
#include "fleet/deploy/explain_text.h"

#include <utility>

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

std::vector<ExplainedCluster> ExplainClusters(const Json& answer,
                                              const std::set<std::string>& selected) {
  std::vector<ExplainedCluster> clusters;
  const Json& ranking = kube::ListAt(answer, "aggregatedScores");
  for (const Json& entry : ranking) {
    ExplainedCluster one{.name = kube::StringAt(entry, "clusterName"),
                         .score = kube::IntAt(entry, "score")};
    one.selected = selected.contains(one.name);
    const std::string scores = ScoresOf(answer, one.name);
    one.why = "rank " + std::to_string(clusters.size() + 1) + " of " +
              std::to_string(ranking.size()) + " by score " + std::to_string(*one.score) +
              (scores.empty() ? "" : " (" + scores + ")");
    // Spread constraints and the number of clusters decide among those that pass all filters.
    if (!one.selected) one.why += "; " + std::to_string(selected.size()) + " others are selected";
    clusters.push_back(std::move(one));
  }
  for (const Json& entry : kube::ListAt(answer, "rejected")) {
    ExplainedCluster one{.name = kube::StringAt(entry, "clusterName")};
    one.selected = selected.contains(one.name);
    one.why = "rejected by " + kube::StringAt(entry, "by") + ": " + kube::StringAt(entry, "why");
    clusters.push_back(std::move(one));
  }
  return clusters;
}

std::string ExplainText(const Json& answer, const std::set<std::string>& selected,
                        const std::string& cluster) {
  std::string text;
  for (const ExplainedCluster& one : ExplainClusters(answer, selected)) {
    if (!cluster.empty() && one.name != cluster) continue;
    text += one.name + ": ";
    if (one.score) {
      text += one.selected ? "selected, " : "not selected, ";
    } else if (one.selected) {
      text += "still selected, and now ";
    }
    text += one.why + "\n";
  }
  return text;
}

}  // namespace fleet
