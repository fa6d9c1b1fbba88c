// SPDX-License-Identifier: Apache-2.0
#include "fleet/api/placement_decision.h"

#include "fleet/api/reading.h"

namespace fleet {
namespace {

using api::JsonReader;
using kube::Json;

std::optional<std::string> Label(const Json& labels, std::string_view name) {
  auto found = labels.find(std::string(name));
  if (found == labels.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

std::string ControllerUid(const Json& object) {
  const Json* owners = kube::Find(object, "metadata.ownerReferences");
  if (owners == nullptr || !owners->is_array()) return "";
  for (const Json& owner : *owners) {
    if (kube::BoolAt(owner, "controller")) return kube::StringAt(owner, "uid");
  }
  return "";
}

}  // namespace

kube::Result<PlacementDecision> PlacementDecision::FromJson(const Json& json) {
  if (!json.is_object()) return kube::Error::Invalid("PlacementDecision: not a JSON object");
  PlacementDecision decision;
  decision.ns = kube::StringAt(json, "metadata.namespace");
  decision.name = kube::StringAt(json, "metadata.name");
  decision.uid = kube::StringAt(json, "metadata.uid");
  decision.resource_version = kube::StringAt(json, "metadata.resourceVersion");
  decision.deleting = IsDeleting(json);
  decision.owner_uid = ControllerUid(json);
  const Json& labels = ObjectOrEmpty(json, "metadata.labels");
  decision.placement = Label(labels, kPlacementLabel).value_or("");
  decision.group_index = Label(labels, kDecisionGroupIndexLabel);
  decision.group_name = Label(labels, kDecisionGroupNameLabel);

  const Json* list = kube::Find(json, "status.decisions");
  decision.has_status =
      list != nullptr &&
      (list->is_null() || (list->is_array() && list->size() <= kMaxDecisionsRead));
  JsonReader reader(ObjectOrEmpty(json, "status"), "status", decision.problems);
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
