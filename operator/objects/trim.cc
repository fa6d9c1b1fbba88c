// SPDX-License-Identifier: Apache-2.0
#include "operator/objects/trim.h"

#include <string>

#include "operator/objects/metadata.h"

namespace operator_ {

using kube::Json;

Json TrimOperand(const Json& object) {
  Json kept = Json::object();
  auto keep = [](const Json& from, Json& to, std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (const Json* value = kube::Find(from, name)) to[name] = *value;
    }
  };
  if (const Json* metadata = kube::Find(object, "metadata")) {
    Json& to = kept["metadata"] = Json::object();
    keep(*metadata, to, {"name", "namespace", "uid", "resourceVersion", "generation", "labels", "deletionTimestamp"});
    const Json* annotations = kube::Find(*metadata, "annotations");
    if (annotations != nullptr && annotations->is_object()) {
      auto hash = annotations->find(std::string(kAppliedHashAnnotation));
      if (hash != annotations->end()) to["annotations"][hash.key()] = *hash;
    }
  }
  if (kube::StringAt(object, "kind") != "Deployment") return kept;
  if (const Json* replicas = kube::Find(object, "spec.replicas")) kept["spec"]["replicas"] = *replicas;
  if (const Json* status = kube::Find(object, "status")) {
    Json& to = kept["status"] = Json::object();
    keep(*status, to,
         {"observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "conditions"});
  }
  return kept;
}

}  // namespace operator_
