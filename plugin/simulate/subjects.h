// SPDX-License-Identifier: Apache-2.0
// Subjects: the pods that manifests stand for. Pure.
#pragma once

#include <string>
#include <vector>

#include "api/pod_placement_config.h"
#include "kube/base/error.h"
#include "kube/types/core.pb.h"
#include "kube/types/unstructured.h"

namespace plugin {

// A pod, or the pods of a workload.
struct Subject {
  std::string kind;     // "Deployment"
  kube::core::Pod pod;  // with the namespace, and the name of the workload

  std::string Name() const {
    return kind + " " + pod.metadata().namespace_() + "/" + pod.metadata().name();
  }
};

struct Manifests {
  std::vector<Subject> subjects;
  std::vector<api::PodPlacementConfig> configs;
  // Objects that have no pods: "Service web".
  std::vector<std::string> others;
};

// Of a pod, a workload, or an item of another kind with a pod template at spec.template (or, as in
// a CronJob, at spec.jobTemplate.spec.template). nullopt for an object without one.
std::optional<Subject> SubjectOf(const kube::Json& object, const std::string& default_namespace);

// All documents of a file, in YAML or JSON; Lists have their items. What has no namespace is in
// `default_namespace`. Errors: kInvalid for text that does not parse, and for a file without pods
// and configs.
kube::Result<Manifests> ReadManifests(const std::string& text,
                                      const std::string& default_namespace);

}  // namespace plugin
