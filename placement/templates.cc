// SPDX-License-Identifier: Apache-2.0
#include "placement/templates.h"

#include <algorithm>
#include <utility>

#include "api/architecture.h"
#include "api/names.h"
#include "api/templates.h"
#include "placement/daemon_nodes.h"
#include "placement/ignored.h"
#include "placement/tolerations.h"

namespace placement {
namespace {

using kube::core::NodeSelectorRequirement;
using kube::core::NodeSelectorTerm;
using kube::core::Pod;
using kube::core::PodSpec;
using kube::workloads::PodTemplateSpec;

// As of Join().
constexpr std::string_view kSeparator = ", ";

bool HasRequirement(const kube::meta::ObjectMeta& workload) {
  return workload.annotations().contains(std::string(api::kTemplateArchitecturesAnnotation));
}

void CopyImages(const google::protobuf::RepeatedPtrField<kube::core::Container>& from,
                google::protobuf::RepeatedPtrField<kube::core::Container>& to) {
  for (const kube::core::Container& container : from) {
    kube::core::Container& image = *to.Add();
    image.set_image(container.image());
    image.set_image_pull_policy(container.image_pull_policy());
  }
}

}  // namespace

bool MayTakeRequirement(const kube::workloads::Job& job) {
  return job.spec().suspend() && !job.status().has_start_time() &&
         !job.metadata().has_deletion_timestamp() && !HasRequirement(job.metadata());
}

bool MayTakeRequirement(const kube::workloads::DaemonSet& daemon_set) {
  const auto& owners = daemon_set.metadata().owner_references();
  const bool managed =
      std::any_of(owners.begin(), owners.end(), [](auto& owner) { return owner.controller(); });
  return !managed && daemon_set.metadata().generation() == 1 &&
         !daemon_set.metadata().has_deletion_timestamp() && !HasRequirement(daemon_set.metadata());
}

Pod PodOf(const std::string& ns, const PodTemplateSpec& pod_template) {
  const PodSpec& spec = pod_template.spec();
  Pod pod;
  pod.mutable_metadata()->set_namespace_(ns);
  *pod.mutable_metadata()->mutable_labels() = pod_template.metadata().labels();
  *pod.mutable_spec() = NodeConstraintsOf(spec);
  if (spec.has_node_name()) pod.mutable_spec()->set_node_name(spec.node_name());
  if (spec.has_scheduler_name()) pod.mutable_spec()->set_scheduler_name(spec.scheduler_name());
  if (spec.has_os()) *pod.mutable_spec()->mutable_os() = spec.os();
  CopyImages(spec.containers(), *pod.mutable_spec()->mutable_containers());
  CopyImages(spec.init_containers(), *pod.mutable_spec()->mutable_init_containers());
  for (const kube::core::Volume& volume : spec.volumes()) {
    if (!volume.source().has_image()) continue;
    const kube::core::ImageVolumeSource& image = volume.source().image();
    kube::core::ImageVolumeSource& kept =
        *pod.mutable_spec()->add_volumes()->mutable_source()->mutable_image();
    kept.set_reference(image.reference());
    kept.set_pull_policy(image.pull_policy());
  }
  *pod.mutable_spec()->mutable_image_pull_secrets() = spec.image_pull_secrets();
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
  // The spec is moved, not copied: it may be large.
  Pod pod;
  pod.mutable_metadata()->set_namespace_(ns);
  PodSpec& spec = *pod.mutable_spec();
  spec.Swap(pod_template.mutable_spec());
  const bool had_affinity = spec.has_affinity();
  kube::core::Affinity affinity = spec.affinity();
  Requirement required = ApplyRequirement(pod, common);
  if (required.result != RequirementResult::kSet) {
    *spec.mutable_affinity() = std::move(affinity);
    if (!had_affinity) spec.clear_affinity();
    spec.Swap(pod_template.mutable_spec());
    return required;
  }
  const api::PodPlacementConfig* config = ConfigForTolerations(tolerations.configs);
  const api::ArchitectureTolerations* plugin =
      config == nullptr ? tolerations.of_cluster : config->Tolerations();
  if (plugin != nullptr) ApplyTolerations(pod, *plugin, required.architectures);
  spec.Swap(pod_template.mutable_spec());
  return required;
}

ArchitectureSet RequiredInTemplate(const kube::meta::ObjectMeta& workload) {
  ArchitectureSet required;
  auto found = workload.annotations().find(std::string(api::kTemplateArchitecturesAnnotation));
  if (found == workload.annotations().end()) return required;
  // Users can write anything.
  std::string_view rest = found->second;
  while (!rest.empty() && required.size() < kMaxArchitectures) {
    std::string name(rest.substr(0, rest.find(kSeparator)));
    rest.remove_prefix(std::min(rest.size(), name.size() + kSeparator.size()));
    if (api::IsArchitectureName(name)) required.insert(std::move(name));
  }
  return required;
}

void RemoveRequirement(const ArchitectureSet& required, PodSpec& spec) {
  auto is_requirement = [&](const NodeSelectorRequirement& expression) {
    auto known = [&](const std::string& value) { return required.contains(value); };
    return expression.key() == api::kArchLabel && expression.operator_() == "In" &&
           std::all_of(expression.values().begin(), expression.values().end(), known);
  };
  if (!spec.affinity().node_affinity().has_required_during_scheduling_ignored_during_execution())
    return;
  auto& affinity = *spec.mutable_affinity()->mutable_node_affinity();
  for (NodeSelectorTerm& term :
       *affinity.mutable_required_during_scheduling_ignored_during_execution()
            ->mutable_node_selector_terms()) {
    auto& expressions = *term.mutable_match_expressions();
    auto removed = std::remove_if(expressions.begin(), expressions.end(), is_requirement);
    if (removed == expressions.end()) continue;
    expressions.erase(removed, expressions.end());
    if (!expressions.empty() || !term.match_fields().empty()) continue;
    // The term was for all nodes of these architectures, so any node is left.
    affinity.clear_required_during_scheduling_ignored_during_execution();
    return;
  }
}

}  // namespace placement
