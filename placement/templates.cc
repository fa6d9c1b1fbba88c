// SPDX-License-Identifier: Apache-2.0
#include "placement/templates.h"

#include <utility>

#include "api/templates.h"
#include "placement/ignored.h"
#include "placement/tolerations.h"

namespace placement {
namespace {

using kube::core::Pod;
using kube::workloads::PodTemplateSpec;

bool HasRequirement(const kube::meta::ObjectMeta& workload) {
  return workload.annotations().contains(std::string(api::kTemplateArchitecturesAnnotation));
}

}  // namespace

bool IsUnstarted(const kube::workloads::Job& job) {
  return job.spec().suspend() && !job.status().has_start_time() &&
         !job.metadata().has_deletion_timestamp() && !HasRequirement(job.metadata());
}

bool IsUnchanged(const kube::workloads::DaemonSet& daemon_set) {
  return daemon_set.metadata().generation() == 1 &&
         !daemon_set.metadata().has_deletion_timestamp() && !HasRequirement(daemon_set.metadata());
}

Pod PodOf(const std::string& ns, const PodTemplateSpec& pod_template) {
  Pod pod;
  pod.mutable_metadata()->set_namespace_(ns);
  *pod.mutable_metadata()->mutable_labels() = pod_template.metadata().labels();
  *pod.mutable_metadata()->mutable_annotations() = pod_template.metadata().annotations();
  *pod.mutable_spec() = pod_template.spec();
  return pod;
}

bool TakesRequirement(const Pod& pod, const std::vector<std::string>& excluded_schedulers,
                      std::string_view operator_namespace) {
  return NeedsRequirement(pod) && !IsIgnored(pod, operator_namespace) &&
         !OptsOut(pod, excluded_schedulers);
}

Requirement RequireInTemplate(const std::string& ns, const CommonPlatforms& common,
                              const TemplateTolerations& tolerations,
                              PodTemplateSpec& pod_template) {
  Pod pod = PodOf(ns, pod_template);
  Requirement required = ApplyRequirement(pod, common);
  if (required.result != RequirementResult::kSet) return required;
  const api::PodPlacementConfig* config = ConfigForTolerations(tolerations.configs);
  const api::ArchitectureTolerations* plugin =
      config == nullptr ? tolerations.of_cluster : config->Tolerations();
  if (plugin != nullptr) ApplyTolerations(pod, *plugin, required.architectures);
  *pod_template.mutable_spec() = std::move(*pod.mutable_spec());
  return required;
}

}  // namespace placement
