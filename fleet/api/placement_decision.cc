// SPDX-License-Identifier: Apache-2.0
#include "fleet/api/placement_decision.h"

#include "fleet/api/reading.h"
#include "kube/types/list_at.h"
#include "kube/types/object_fields.h"

namespace fleet {
namespace {

using api::JsonReader;
using kube::Json;

std::optional<std::string> Label(const Json& labels, std::string_view name) {
  auto found = labels.find(std::string(name));
  if (found == labels.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

}  // namespace

kube::Result<PlacementDecision> PlacementDecision::FromJson(const Json& json) {
  if (!json.is_object()) return kube::Error::Invalid("PlacementDecision: not a JSON object");
  PlacementDecision decision;
  ReadMetadata(json, decision);
  const Json* owner = kube::ControllerOf(json);
  if (owner != nullptr) decision.owner_uid = kube::StringAt(*owner, "uid");
  const Json& labels = kube::ObjectAt(json, "metadata.labels");
  decision.placement = Label(labels, kPlacementLabel).value_or("");
  decision.group_index = Label(labels, kDecisionGroupIndexLabel);
  decision.group_name = Label(labels, kDecisionGroupNameLabel);

  const Json* list = kube::Find(json, "status.decisions");
  decision.has_status =
      list != nullptr &&
      (list->is_null() || (list->is_array() && list->size() <= kMaxDecisionsRead));
  JsonReader reader(kube::ObjectAt(json, "status"), "status", decision.problems);
  ForEachItem(reader, "decisions", kMaxDecisionsRead, [&](JsonReader& item, const Json& entry) {
    Decision read{.cluster = ReadString(item, "clusterName")};
    if (const Json* score = kube::Find(entry, "score"); score && score->is_number_integer())
      read.score = score->get<int64_t>();
    if (!read.cluster.empty()) decision.decisions.push_back(std::move(read));
  });
  return decision;
}

Json DecisionsToJson(const std::vector<Decision>& decisions) {
  Json list = Json::array();
  for (const Decision& decision : decisions) {
    Json entry = {{"clusterName", decision.cluster}, {"reason", ""}};
    if (decision.score) entry["score"] = *decision.score;
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace fleet
