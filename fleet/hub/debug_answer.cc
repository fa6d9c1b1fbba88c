// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/debug_answer.h"

#include <algorithm>
#include <string>
#include <utility>

#include "fleet/hub/ranking.h"

namespace fleet {
namespace {

using kube::Json;

Json NamesOf(const Clusters& clusters) {
  Json names = Json::array();
  for (const ManagedCluster* cluster : clusters) names.push_back(cluster->name);
  return names;
}

Json ScoresOf(const PrioritizerResult& result, const Clusters& clusters) {
  Json scores = Json::object();
  for (size_t i = 0; i < result.scores.size(); ++i) {
    if (result.scores[i]) scores[clusters[i]->name] = *result.scores[i];
  }
  return scores;
}

}  // namespace

Json DebugAnswer(const Placement& placement, const Scheduled& scheduled) {
  Json answer = {{"placement",
                  {{"apiVersion", kPlacements.ApiVersion()},
                   {"kind", std::string(kPlacements.kind)},
                   {"metadata",
                    {{"namespace", placement.ns},
                     {"name", placement.name},
                     {"generation", placement.generation}}}}}};
  if (scheduled.misconfigured) {
    answer["error"] = scheduled.misconfigured->Message();
    return answer;
  }
  Json filters = Json::array();
  for (const FilterResult& filter : scheduled.filters)
    filters.push_back({{"name", filter.name}, {"filteredClusters", NamesOf(filter.clusters)}});
  Json prioritizers = Json::array();
  for (const PrioritizerResult& result : scheduled.prioritizers) {
    prioritizers.push_back({{"name", result.name},
                            {"weight", result.weight},
                            {"scores", ScoresOf(result, scheduled.feasible)}});
  }
  Json totals = Json::array();
  for (const auto& [cluster, total] : Ranking(scheduled))
    totals.push_back({{"clusterName", cluster}, {"score", total}});
  Json rejected = Json::array();
  for (const Rejections::Rejected& one : scheduled.rejections.clusters()) {
    const Rejections::Reason& reason = scheduled.rejections.reasons()[one.reason];
    rejected.push_back(
        {{"clusterName", one.cluster->name}, {"by", std::string(reason.by)}, {"why", reason.why}});
  }
  answer["filteredPipelineResults"] = std::move(filters);
  answer["prioritizeResults"] = std::move(prioritizers);
  answer["aggregatedScores"] = std::move(totals);
  answer["rejected"] = std::move(rejected);
  return answer;
}

}  // namespace fleet
