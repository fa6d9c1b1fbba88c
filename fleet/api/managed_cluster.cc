// SPDX-License-Identifier: Apache-2.0
#include "fleet/api/managed_cluster.h"

#include "fleet/api/reading.h"
#include "kube/types/list_at.h"
#include "kube/types/quantity.h"

namespace fleet {
namespace {

using api::JsonReader;
using kube::Json;

constexpr size_t kMaxValue = 1024;  // bytes of a claim's or taint's value, as in the CRDs

std::optional<double> ReadQuantity(const Json& status, const std::string& list,
                                   const char* resource, api::FieldErrors& problems) {
  const Json* value = kube::Find(status, list + "." + resource);
  if (value == nullptr || value->is_null()) return std::nullopt;
  std::optional<double> quantity;
  if (value->is_string()) quantity = kube::ParseQuantity(value->get_ref<const std::string&>());
  if (value->is_number()) quantity = kube::ParseQuantity(kube::DumpJson(*value));
  if (!quantity) api::AddProblem(problems, "status." + list + "." + resource, "must be a quantity");
  return quantity;
}

// A cluster that does not report its capacity has no score.
std::optional<double> ReadAllocatable(const Json& status, const char* resource,
                                      api::FieldErrors& problems) {
  std::optional<double> allocatable = ReadQuantity(status, "allocatable", resource, problems);
  std::optional<double> capacity = ReadQuantity(status, "capacity", resource, problems);
  return capacity ? allocatable : std::nullopt;
}

}  // namespace

kube::Result<ManagedCluster> ManagedCluster::FromJson(const Json& json) {
  if (!json.is_object()) return kube::Error::Invalid("ManagedCluster: not a JSON object");
  ManagedCluster cluster;
  cluster.name = kube::StringAt(json, "metadata.name");
  cluster.deleting = IsDeleting(json);
  cluster.labels = Properties(ReadLabels(json, kMaxClusterLabels, cluster.problems));

  JsonReader spec(kube::ObjectAt(json, "spec"), "spec", cluster.problems);
  ForEachItem(spec, "taints", kMaxClusterTaints, [&](JsonReader& item, const Json&) {
    cluster.taints.push_back({.key = ReadString(item, "key"),
                              .value = ReadString(item, "value", kMaxValue),
                              .effect = ReadString(item, "effect"),
                              .time_added = ReadTime(item, "timeAdded")});
  });
  // What cannot be read must not make the cluster selectable.
  const Json* taints = kube::Find(json, "spec.taints");
  if (taints != nullptr && taints->is_array() && taints->size() > kMaxClusterTaints) {
    cluster.taints.push_back(
        {.key = std::string(kTooManyTaints), .effect = std::string(kNoSelect)});
  }

  const Json& status_json = kube::ObjectAt(json, "status");
  JsonReader status(status_json, "status", cluster.problems);
  std::map<std::string, std::string> claims;
  ForEachItem(status, "clusterClaims", kMaxClusterClaims, [&](JsonReader& item, const Json&) {
    std::string name = ReadString(item, "name");
    if (!name.empty()) claims[std::move(name)] = ReadString(item, "value", kMaxValue);
  });
  cluster.claims = Properties(claims);
  cluster.allocatable_cpu = ReadAllocatable(status_json, "cpu", cluster.problems);
  cluster.allocatable_memory = ReadAllocatable(status_json, "memory", cluster.problems);
  return cluster;
}

}  // namespace fleet
