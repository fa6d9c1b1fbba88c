// SPDX-License-Identifier: Apache-2.0
#include "plugin/pod/never_gated.h"

#include <string>

#include "api/names.h"
#include "placement/ignored.h"
#include "placement/pod_metadata.h"
#include "placement/selector.h"

namespace plugin {

std::optional<Cause> WhyNeverGated(kube::core::Pod pod, const NamespaceEvidence& around) {
  const std::string ns = pod.metadata().namespace_();
  const std::string exclude(api::kExcludeLabel);
  const std::string ask = "remove the label for new pods to be placed";
  if (ns.starts_with("kube-"))
    return Cause{"NamespaceReserved", "pods of " + ns + " are never placed by architecture", ""};
  if (placement::HasLabel(pod, exclude))
    return Cause{"PodOptsOut", "the pod has the label " + exclude, ask};
  if (around.ns && around.ns->metadata().labels().contains(exclude))
    return Cause{"NamespaceOptsOut", "the namespace has the label " + exclude, ask};
  pod.mutable_spec()->clear_node_name();
  if (placement::IsIgnored(pod, ""))
    return Cause{"NeverPlaced",
                 "such pods are never placed by architecture: of a DaemonSet, of the operator "
                 "itself, or for the control plane",
                 ""};
  if (around.has_no_cluster_config)
    return Cause{"NoClusterPodPlacementConfig",
                 "there is no ClusterPodPlacementConfig cluster: no pod is placed by architecture",
                 "create it"};
  if (!around.cluster_config) return std::nullopt;
  const api::ClusterPodPlacementConfig& config = *around.cluster_config;
  if (placement::OptsOut(pod, config.spec.excluded_scheduler_names))
    return Cause{"SchedulerExcluded",
                 "the ClusterPodPlacementConfig excludes the pods of the scheduler " +
                     pod.spec().scheduler_name(),
                 ""};
  if (!around.ns || !config.spec.namespace_selector) return std::nullopt;
  auto selected =
      placement::Matches(*config.spec.namespace_selector, around.ns->metadata().labels());
  if (!selected || *selected) return std::nullopt;
  return Cause{"NamespaceNotSelected",
               "the namespaceSelector of the ClusterPodPlacementConfig does not select " + ns,
               "change the labels of the namespace, or the selector"};
}

}  // namespace plugin
