// SPDX-License-Identifier: Apache-2.0
#include "fleet/api/managed_cluster_set.h"

#include "api/label_selector.h"
#include "fleet/api/reading.h"
#include "kube/types/list_at.h"

namespace fleet {

using api::JsonReader;
using kube::Json;

kube::Result<ManagedClusterSet> ManagedClusterSet::FromJson(const Json& json) {
  if (!json.is_object()) return kube::Error::Invalid("ManagedClusterSet: not a JSON object");
  ManagedClusterSet set;
  set.name = kube::StringAt(json, "metadata.name");
  set.uid = kube::StringAt(json, "metadata.uid");
  set.generation = kube::IntAt(json, "metadata.generation");
  set.deleting = IsDeleting(json);
  set.shares_image_facts = MetadataString(json, "metadata.labels", kImageFactsLabel) == kTrusted;

  const std::string path = "spec.clusterSelector";
  JsonReader selector(kube::ObjectAt(json, path), path, set.problems);
  std::string type = ReadString(selector, "selectorType");
  if (type == "LabelSelector") {
    const Json* labels = selector.Object("labelSelector");
    set.selects = labels == nullptr ? Selects::kNothing : Selects::kBySelector;
    if (labels != nullptr) {
      set.selector = api::LabelSelectorFromJson(*labels, path + ".labelSelector", set.problems);
      api::ValidateLabelSelector(set.selector, path + ".labelSelector", set.problems);
    }
  } else if (!type.empty() && type != "ExclusiveClusterSetLabel") {
    selector.Problem("selectorType", "must be ExclusiveClusterSetLabel or LabelSelector");
  }
  if (!set.problems.empty()) set.selects = Selects::kNothing;
  return set;
}

kube::Result<ManagedClusterSetBinding> ManagedClusterSetBinding::FromJson(const Json& json) {
  if (!json.is_object()) return kube::Error::Invalid("ManagedClusterSetBinding: not a JSON object");
  ManagedClusterSetBinding binding;
  binding.ns = kube::StringAt(json, "metadata.namespace");
  binding.name = kube::StringAt(json, "metadata.name");
  binding.generation = kube::IntAt(json, "metadata.generation");
  binding.deleting = IsDeleting(json);
  JsonReader spec(kube::ObjectAt(json, "spec"), "spec", binding.problems);
  // The right to bind a set is checked for the name in the spec.
  if (ReadString(spec, "clusterSet", kMaxName, api::kRequired) == binding.name) {
    binding.cluster_set = binding.name;
  } else {
    spec.Problem("clusterSet", "must be the name of the binding");
  }
  return binding;
}

}  // namespace fleet
