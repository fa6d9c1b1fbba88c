// SPDX-License-Identifier: Apache-2.0
#include "placement/ignored.h"

#include "api/names.h"
#include "placement/gate.h"
#include "placement/gating.h"
#include "placement/pod_metadata.h"

namespace placement {

using kube::core::Pod;

bool IsIgnored(const Pod& pod, std::string_view operator_namespace) {
  PodView view{.ns = pod.metadata().namespace_(), .node_name = pod.spec().node_name()};
  view.operand = pod.metadata().labels().contains(std::string(api::kOperandLabel));
  // The webhooks know who created the pod: one that they gated is of no DaemonSet, whatever it
  // says.
  if (!IsGatedByWebhook(pod)) {
    for (const kube::meta::OwnerReference& owner : pod.metadata().owner_references()) {
      view.owned_by_daemon_set |= owner.controller() && owner.kind() == "DaemonSet" &&
                                  owner.api_version().starts_with("apps/");
    }
  }
  for (const auto& [key, value] : pod.spec().node_selector())
    view.node_selector_keys.push_back(key);
  return IsNeverGated(view, operator_namespace);
}

bool IsGatedByWebhook(const Pod& pod) {
  if (LabelOf(pod, api::kClusterGateLabel) == api::kGated) return true;
  return !HasGate(pod, api::kClusterGate) && LabelOf(pod, api::kLocalGateLabel) == api::kGated;
}

}  // namespace placement
