// SPDX-License-Identifier: Apache-2.0
// Pod templates of workloads: the requirement that the pods of a template would get, set in the
// template. Pods that are made from it are then as pods whose author requires their architectures:
// nothing is added to them, so the template gets the tolerations too that its pods would get.
// Labels are not set: those of a pod say what was decided when it was released.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/architecture_tolerations.h"
#include "kube/types/core.pb.h"
#include "kube/types/workloads.pb.h"
#include "placement/architecture.h"
#include "placement/matching_configs.h"
#include "placement/platforms.h"
#include "placement/requirement.h"

namespace placement {

// True for a Job that is suspended and does not run, and whose template no call of this file has
// changed: the API server allows to change it (KEP-2926). It may have run before: the controller of
// Jobs removes the start time when a Job is suspended.
bool MayTakeRequirement(const kube::workloads::Job& job);

// True for a DaemonSet whose spec was never changed, by anyone, and that no other controller
// manages: it would restore its template.
bool MayTakeRequirement(const kube::workloads::DaemonSet& daemon_set);

// Of a pod of the template, in `ns`, only what decides: labels, images with their pull policies and
// secrets, and on which nodes it runs. It has no name.
kube::core::Pod PodOf(const std::string& ns, const kube::workloads::PodTemplateSpec& pod_template);

// False if pods like `pod` get no requirement: they are ignored or opt out (ignored.h), or their
// author requires architectures.
bool TakesRequirement(const kube::core::Pod& pod,
                      const std::vector<std::string>& excluded_schedulers,
                      std::string_view operator_namespace);

// What decides the tolerations of a template, as of a pod (tolerations.h). The default: none.
struct TemplateTolerations {
  MatchingConfigs configs = {};
  // ClusterPodPlacementConfig::Tolerations(): decides if none of `configs` does. Not owned.
  const api::ArchitectureTolerations* of_cluster = nullptr;
};

// Sets requirement and tolerations. Anything but kSet in the result: the template is unchanged. One
// whose images have no architecture in common is unchanged (kNowhere): its pods get the
// requirement and an event when there are some.
Requirement RequireInTemplate(const std::string& ns, const CommonPlatforms& common,
                              const TemplateTolerations& tolerations,
                              kube::workloads::PodTemplateSpec& pod_template);

// What was required of the workload's template, by its annotation; empty: nothing.
ArchitectureSet RequiredInTemplate(const kube::meta::ObjectMeta& workload);

// Removes the requirement for no other architectures than `required` from the spec. What else a
// term has stays, such as a level of x86-64.
void RemoveRequirement(const ArchitectureSet& required, kube::core::PodSpec& spec);

}  // namespace placement
