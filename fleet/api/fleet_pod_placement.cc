// SPDX-License-Identifier: Apache-2.0
#include "fleet/api/fleet_pod_placement.h"

#include <openssl/sha.h>

#include <array>
#include <set>

#include "api/cluster_pod_placement_config.h"
#include "api/json_fields.h"
#include "api/json_reader.h"
#include "api/label_selector.h"
#include "api/names.h"
#include "api/pod_placement_config.h"
#include "fleet/api/reading.h"
#include "kube/types/list_at.h"

namespace fleet {
namespace {

using api::AddProblem;
using api::FieldErrors;
using api::JsonReader;
using kube::Json;

constexpr std::array<std::string_view, 2> kDeletionPolicies = {"Delete", "Orphan"};
constexpr size_t kMaxMetadataEntries = 100;  // labels, and annotations
constexpr size_t kMaxNameBytes = 253;
// The prefix of labels and annotations that the hub and agents add to the objects.
constexpr std::string_view kMarkPrefix = "fleet.multiarch.openshift.io/";

std::vector<PlacementRef> ReadPlacements(JsonReader& spec) {
  std::vector<PlacementRef> placements;
  std::set<std::string> names;
  const Json* list = spec.Array("placements", kMaxRolloutPlacements, api::kRequired);
  if (list != nullptr && list->empty()) spec.Problem("placements", "must have at least one item");
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
    std::string path = spec.PathOf("placements") + "[" + std::to_string(i) + "]";
    JsonReader item((*list)[i], path, spec.problems());
    PlacementRef ref{.name = item.String("name", api::kRequired)};
    if (ref.name.size() > kMaxNameBytes) {
      item.Problem("name", "must have at most 253 characters");
    } else if (!names.insert(ref.name).second) {
      item.Problem("name", "is listed twice");
    }
    if (const Json* strategy = item.Object("rolloutStrategy")) {
      ref.strategy =
          RolloutStrategyFromJson(*strategy, item.PathOf("rolloutStrategy"), spec.problems());
    }
    placements.push_back(std::move(ref));
  }
  return placements;
}

// Copies a map of strings of the template's metadata.
void CopyStrings(JsonReader& metadata, std::string_view name, Json& copy) {
  const Json* map = metadata.Object(name);
  if (map == nullptr || map->empty()) return;
  bool strings = map->size() <= kMaxMetadataEntries;
  bool marks = false;
  for (const auto& [key, value] : map->items()) {
    strings = strings && value.is_string() && api::IsLabelKey(key);
    marks = marks || key.starts_with(kMarkPrefix);
  }
  if (strings && !marks) {
    copy[std::string(name)] = *map;
  } else if (strings) {
    metadata.Problem(name, "must have no name with " + std::string(kMarkPrefix) +
                               ", which marks what a hub applies");
  } else {
    metadata.Problem(name, "must have at most 100 entries: names of labels, and strings");
  }
}

// The object of a template: without what only the API server writes.
Json ReadTemplate(const Json& json, const std::string& path, const kube::Resource& kind,
                  FieldErrors& problems) {
  static const Json kEmpty = Json::object();
  JsonReader reader(json, path, problems);
  Json metadata = Json::object();
  const Json* given = reader.Object("metadata", kind.namespaced ? api::kRequired : api::kOptional);
  JsonReader fields(given == nullptr ? kEmpty : *given, path + ".metadata", problems);
  if (kind.namespaced) {
    for (std::string_view name : {"name", "namespace"}) {
      std::string text = fields.String(name, given == nullptr ? api::kOptional : api::kRequired);
      if (!text.empty() && !api::IsDnsSubdomain(text))
        fields.Problem(name, "must be a name of lower-case letters, digits, '-' and '.'");
      metadata[std::string(name)] = text;
    }
  } else {
    metadata["name"] = std::string(api::kClusterConfigName);
  }
  CopyStrings(fields, "labels", metadata);
  CopyStrings(fields, "annotations", metadata);
  const Json* spec = reader.Object("spec", api::kRequired);
  return {{"apiVersion", kind.ApiVersion()},
          {"kind", std::string(kind.kind)},
          {"metadata", std::move(metadata)},
          {"spec", spec == nullptr ? kEmpty : *spec}};
}

// Adds the template's object and what is wrong with it. `path` replaces "spec" in the problems that
// the kind itself finds.
template <class T>
void AddTemplate(const Json& json, const std::string& path, FleetPodPlacement& fleet,
                 size_t& total_bytes) {
  size_t before = fleet.problems.size();
  size_t bytes = kube::DumpJson(json).size();
  total_bytes += bytes;
  if (bytes > kMaxTemplateBytes) {
    AddProblem(fleet.problems, path, "must have at most 64 KiB");
    return;
  }
  Json object = ReadTemplate(json, path, kube::ResourceOf<T>::value, fleet.problems);
  if (fleet.problems.size() != before) return;
  if (auto parsed = T::FromJson(object)) {
    for (api::FieldError& problem : parsed->problems)
      AddProblem(fleet.problems, path + "." + problem.field, std::move(problem.message));
  }
  fleet.spec.objects.push_back(std::move(object));
}

void ReadTemplates(JsonReader& spec, FleetPodPlacement& fleet) {
  constexpr std::string_view kCluster = "clusterPodPlacementConfig";
  constexpr std::string_view kConfigs = "podPlacementConfigs";
  size_t bytes = 0;
  if (const Json* cluster = spec.Object(kCluster))
    AddTemplate<api::ClusterPodPlacementConfig>(*cluster, spec.PathOf(kCluster), fleet, bytes);

  const Json* list = spec.Array(kConfigs, kMaxPodPlacementConfigs);
  std::set<std::string> keys;
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
    std::string path = spec.PathOf(kConfigs) + "[" + std::to_string(i) + "]";
    const Json& config = (*list)[i];
    std::string key = kube::StringAt(config, "metadata.namespace") + "/" +
                      kube::StringAt(config, "metadata.name");
    if (!keys.insert(key).second) AddProblem(fleet.problems, path, key + " is listed twice");
    AddTemplate<api::PodPlacementConfig>(config, path, fleet, bytes);
  }
  if (bytes > kMaxTemplatesBytes) {
    AddProblem(fleet.problems, "spec", "the templates must have at most 512 KiB together");
    fleet.spec.objects.clear();
  }
  if (fleet.spec.objects.empty() && fleet.problems.empty())
    AddProblem(fleet.problems, "spec", "needs a clusterPodPlacementConfig or podPlacementConfigs");
}

}  // namespace

std::string_view ToString(DeletionPolicy policy) {
  return kDeletionPolicies[policy == DeletionPolicy::kOrphan];
}

kube::Result<FleetPodPlacement> FleetPodPlacement::FromJson(const Json& json) {
  static const Json kEmpty = Json::object();
  if (!json.is_object()) return kube::Error::Invalid("FleetPodPlacement: not a JSON object");
  FleetPodPlacement fleet;
  ReadMetadata(json, fleet);
  fleet.generation = kube::IntAt(json, "metadata.generation");
  for (const Json& finalizer : kube::ListAt(json, "metadata.finalizers")) {
    if (finalizer.is_string()) fleet.finalizers.push_back(finalizer.get<std::string>());
  }
  if (fleet.name.size() > kMaxFleetPodPlacementName)
    AddProblem(fleet.problems, "metadata.name", "must have at most 63 characters");

  const Json* spec = kube::Find(json, "spec");
  if (spec == nullptr || spec->is_null()) spec = &kEmpty;
  JsonReader reader(*spec, "spec", fleet.problems);
  fleet.spec.placements = ReadPlacements(reader);
  ReadTemplates(reader, fleet);
  if (reader.Enum("deletionPolicy", kDeletionPolicies) == kDeletionPolicies[1])
    fleet.spec.deletion_policy = DeletionPolicy::kOrphan;
  fleet.spec.adopt = reader.Bool("adopt", false);

  if (const Json* status = kube::Find(json, "status")) {
    FieldErrors ignored;  // the hub replaces a status that does not fit
    fleet.status = api::ReadFields<FleetPodPlacementStatus>(*status, "status", ignored);
  }
  fleet.hash = HashOf(fleet.spec);
  return fleet;
}

void FleetPodPlacement::Pack() {
  if (spec.objects.empty()) return;
  packed = kube::PackJson(Json(std::move(spec.objects)));
  packed.shrink_to_fit();
  spec.objects = {};
}

std::vector<Json> FleetPodPlacement::Objects() const {
  if (packed.empty()) return spec.objects;
  kube::Result<Json> objects = kube::UnpackJson(packed);
  if (!objects || !objects->is_array()) return {};
  return std::move(objects->get_ref<Json::array_t&>());
}

std::string HashOf(const std::vector<Json>& objects, bool adopt) {
  constexpr size_t kHashBytes = 8;
  constexpr std::string_view kDigits = "0123456789abcdef";
  Json content = {{"objects", objects}, {"adopt", adopt}};
  std::string text = kube::DumpJson(content);
  std::array<uint8_t, SHA256_DIGEST_LENGTH> digest;
  SHA256(reinterpret_cast<const uint8_t*>(text.data()), text.size(), digest.data());
  std::string hash;
  for (size_t i = 0; i < kHashBytes; ++i) {
    hash += kDigits[digest[i] >> 4];
    hash += kDigits[digest[i] & 15];
  }
  return hash;
}

Json SpecToJson(const FleetPodPlacementSpec& spec) {
  Json json = {{"placements", Json::array()},
               {"deletionPolicy", std::string(ToString(spec.deletion_policy))},
               {"adopt", spec.adopt}};
  for (const PlacementRef& ref : spec.placements) {
    json["placements"].push_back(
        {{"name", ref.name}, {"rolloutStrategy", RolloutStrategyToJson(ref.strategy)}});
  }
  for (const Json& object : spec.objects) {
    Json config = {{"metadata", object["metadata"]}, {"spec", object["spec"]}};
    if (kube::StringAt(object, "metadata.namespace").empty()) {
      config["metadata"].erase("name");
      json["clusterPodPlacementConfig"] = std::move(config);
    } else {
      json["podPlacementConfigs"].push_back(std::move(config));
    }
  }
  return json;
}

Json StatusToJson(const FleetPodPlacementStatus& status) { return api::WriteFields(status); }

}  // namespace fleet
