// SPDX-License-Identifier: Apache-2.0
#include "fleet/api/pod_placement_work.h"

#include <algorithm>

#include "api/find_condition.h"
#include "api/json_fields.h"
#include "api/json_reader.h"
#include "fleet/api/reading.h"
#include "kube/types/object_fields.h"

namespace fleet {
namespace {

using api::JsonReader;
using kube::Json;

constexpr std::array<std::string_view, 2> kPolicies = {"Delete", "Orphan"};

PodPlacementWorkSpec ReadSpec(JsonReader& reader) {
  PodPlacementWorkSpec spec;
  spec.hash = reader.String("hash", api::kRequired);
  if (spec.hash.size() > kMaxWorkHash) reader.Problem("hash", "must have at most 64 characters");
  std::string given = reader.String("givenAt", api::kRequired);
  if (auto time = kube::ParseTime(given)) {
    spec.given_at = *time;
  } else if (!given.empty()) {
    reader.Problem("givenAt", "must be a time, for example 2026-01-31T23:59:59Z");
  }
  const Json* objects = reader.Array("objects", kMaxWorkObjects, api::kRequired);
  for (size_t i = 0; objects != nullptr && i < objects->size(); ++i) {
    const Json& object = (*objects)[i];
    if (object.is_object()) {
      spec.objects.push_back(object);
    } else {
      reader.Problem("objects[" + std::to_string(i) + "]", "must be an object");
    }
  }
  if (reader.Enum("deletionPolicy", kPolicies) == kPolicies[1])
    spec.deletion_policy = DeletionPolicy::kOrphan;
  spec.adopt = reader.Bool("adopt", false);
  return spec;
}

}  // namespace

PodPlacementWork WorkWithMetadataOf(const Json& json, std::string_view finalizer) {
  constexpr std::string_view kLabels = "metadata.labels";
  PodPlacementWork work;
  ReadMetadata(json, work);
  work.owner_ns = MetadataString(json, kLabels, kWorkNamespaceLabel);
  work.owner_name = MetadataString(json, kLabels, kWorkNameLabel);
  work.has_finalizer = kube::HasFinalizer(json, finalizer);
  return work;
}

kube::Result<PodPlacementWork> PodPlacementWork::FromJson(const Json& json) {
  static const Json kEmpty = Json::object();
  if (!json.is_object()) return kube::Error::Invalid("PodPlacementWork: not a JSON object");
  PodPlacementWork work = WorkWithMetadataOf(json, kWorkFinalizer);

  const Json* spec = kube::Find(json, "spec");
  if (spec == nullptr || spec->is_null()) spec = &kEmpty;
  JsonReader reader(*spec, "spec", work.problems);
  work.spec = ReadSpec(reader);

  if (const Json* status = kube::Find(json, "status")) {
    api::FieldErrors ignored;  // what does not fit is no answer
    work.status = api::ReadFields<PodPlacementWorkStatus>(*status, "status", ignored);
  }
  return work;
}

WorkPhase PodPlacementWork::Phase() const {
  if (status.hash != spec.hash) return WorkPhase::kProgressing;
  auto found = std::find(kWorkPhases.begin(), kWorkPhases.end(), status.phase);
  if (found == kWorkPhases.end()) return WorkPhase::kProgressing;
  return static_cast<WorkPhase>(found - kWorkPhases.begin());
}

const api::Condition* PodPlacementWork::Succeeded() const {
  if (status.hash != spec.hash) return nullptr;
  return api::FindCondition(status.conditions, kSucceededCondition);
}

std::string WorkName(std::string_view ns, std::string_view name) {
  return std::string(ns) + "." + std::string(name);
}

Json SpecToJson(const PodPlacementWorkSpec& spec) {
  return {{"hash", spec.hash},
          {"givenAt", kube::FormatTime(spec.given_at)},
          {"objects", spec.objects},
          {"deletionPolicy", std::string(ToString(spec.deletion_policy))},
          {"adopt", spec.adopt}};
}

Json StatusToJson(const PodPlacementWorkStatus& status) { return api::WriteFields(status); }

}  // namespace fleet
