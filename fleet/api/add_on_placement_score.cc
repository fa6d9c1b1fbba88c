// SPDX-License-Identifier: Apache-2.0
#include "fleet/api/add_on_placement_score.h"

#include "fleet/api/reading.h"
#include "kube/types/list_at.h"

namespace fleet {

using api::JsonReader;
using kube::Json;

kube::Result<AddOnPlacementScore> AddOnPlacementScore::FromJson(const Json& json) {
  if (!json.is_object()) return kube::Error::Invalid("AddOnPlacementScore: not a JSON object");
  AddOnPlacementScore score;
  score.cluster = kube::StringAt(json, "metadata.namespace");
  score.name = kube::StringAt(json, "metadata.name");
  JsonReader status(kube::ObjectAt(json, "status"), "status", score.problems);
  ForEachItem(status, "scores", kMaxScores, [&](JsonReader& item, const Json&) {
    size_t before = score.problems.size();
    std::string name = ReadString(item, "name", kMaxName, api::kRequired);
    int64_t value = item.Int(
        "value", {.range = {.low = kMinScore, .high = kMaxScore}, .presence = api::kRequired});
    if (score.problems.size() == before) score.scores.emplace(name, static_cast<int32_t>(value));
  });
  size_t before = score.problems.size();
  score.valid_until = ReadTime(status, "validUntil");
  // A malformed time must not make the scores valid for ever.
  if (score.problems.size() != before) score.valid_until = kube::WallTime();
  return score;
}

}  // namespace fleet
