// SPDX-License-Identifier: Apache-2.0
#include "operator/objects/trim.h"

#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "api/names.h"
#include "operator/objects/hash.h"
#include "operator/objects/metadata.h"
#include "operator/objects/owned_fields.h"
#include "operator/objects/template_mark.h"

namespace operator_ {

using kube::Json;

namespace {

std::string HashOfJson(const Json& content) { return HashOf(kube::DumpJson(content)); }

// Those that are read: others can have as many bytes as their writer likes.
Json LabelsOf(const Json& metadata) {
  Json kept = Json::object();
  const Json* labels = kube::Find(metadata, "labels");
  if (labels == nullptr || !labels->is_object()) return kept;
  for (std::string_view name :
       {kManagedByLabel, kNameLabel, kVersionLabel, kShardNamespaceLabel, kGatingProbeLabel}) {
    auto label = labels->find(std::string(name));
    if (label != labels->end()) kept[std::string(name)] = *label;
  }
  return kept;
}

// The hash of labels, annotations, owners and finalizers, without the Deployment controller's
// annotations.
std::string MetadataHash(const Json& metadata) {
  constexpr std::string_view kOfDeploymentController = "deployment.kubernetes.io/";
  Json content = Json::object();
  for (const char* name : {"labels", "annotations", "ownerReferences", "finalizers"}) {
    const Json* value = kube::Find(metadata, name);
    if (value == nullptr) continue;
    Json counted = *value;
    for (auto entry = counted.begin(); counted.is_object() && entry != counted.end();) {
      entry = entry.key().starts_with(kOfDeploymentController) ? counted.erase(entry)
                                                               : std::next(entry);
    }
    if (!counted.empty()) content[name] = std::move(counted);
  }
  return HashOfJson(content);
}

}  // namespace

Json TrimOperand(const Json& object) {
  Json kept = Json::object();
  auto keep = [](const Json& from, Json& to, std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (const Json* value = kube::Find(from, name)) to[name] = *value;
    }
  };
  // Items of a list have no kind.
  bool deployment = kube::StringAt(object, "kind") == "Deployment" ||
                    kube::Find(object, "spec.template") != nullptr;
  if (const Json* metadata = kube::Find(object, "metadata")) {
    Json& to = kept["metadata"] = Json::object();
    keep(*metadata, to,
         {"name", "namespace", "uid", "resourceVersion", "generation", "deletionTimestamp"});
    if (Json labels = LabelsOf(*metadata); !labels.empty()) to["labels"] = std::move(labels);
    kept[kContentVersion] = deployment ? std::to_string(kube::IntAt(*metadata, "generation")) +
                                             "/" + MetadataHash(*metadata)
                                       : kube::StringAt(*metadata, "resourceVersion");
    kept[kOwnedHash] = HashOfJson(OwnedFields(object, api::kFieldManager));
  }
  if (!deployment) return kept;
  if (std::optional<TemplateMark> mark = MarkOf(object)) SetMark(kept, *mark);
  if (const Json* replicas = kube::Find(object, "spec.replicas"))
    kept["spec"]["replicas"] = *replicas;
  if (const Json* status = kube::Find(object, "status")) {
    Json& to = kept["status"] = Json::object();
    keep(*status, to,
         {"observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas",
          "conditions"});
  }
  return kept;
}

std::string OwnedHashOf(const Json& desired) { return HashOfJson(FieldsToOwn(desired)); }

}  // namespace operator_
