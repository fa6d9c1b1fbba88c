// SPDX-License-Identifier: Apache-2.0
#include "placement/ignored.h"

#include <algorithm>

#include "api/names.h"
#include "placement/gate.h"
#include "placement/gating.h"
#include "placement/pod_metadata.h"

namespace placement {

using kube::core::Pod;

bool IsIgnored(const Pod& pod, std::string_view operator_namespace) {
  PodView view{.ns = pod.metadata().namespace_(), .node_name = pod.spec().node_name()};
  view.operand = HasLabel(pod, api::kOperandLabel);
  view.opted_out = HasLabel(pod, api::kExcludeLabel);
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

bool OptsOut(const Pod& pod, const std::vector<std::string>& excluded_schedulers) {
  return HasLabel(pod, api::kExcludeLabel) ||
         std::find(excluded_schedulers.begin(), excluded_schedulers.end(),
                   pod.spec().scheduler_name()) != excluded_schedulers.end();
}

bool IsGatedByWebhook(const Pod& pod) {
  if (LabelOf(pod, api::kClusterGateLabel) == api::kGated) return true;
  return !HasGate(pod, api::kClusterGate) && LabelOf(pod, api::kLocalGateLabel) == api::kGated;
}

}  // namespace placement
