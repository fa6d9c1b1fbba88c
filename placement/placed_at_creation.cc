// SPDX-License-Identifier: Apache-2.0
#include "placement/placed_at_creation.h"

#include <algorithm>

#include "api/known_images.h"
#include "api/names.h"
#include "placement/gate.h"
#include "placement/pod_metadata.h"
#include "placement/required_terms.h"
#include "placement/requirement.h"

namespace placement {
namespace {

// That what is in the pod has been set.
bool IsConfirmation(const PodEvent& event) {
  return !event.warning &&
         (event.reason == api::kReasonPredicateSet || event.reason == api::kReasonTolerationsSet ||
          event.reason == api::kReasonGateRemoved);
}

// As admission does for a pod that is gated: a copy of another pod has labels of that one.
void ResetLabels(kube::core::Pod& pod) {
  SetLabel(pod, api::kNodeAffinityLabel, api::kNotSet);
  SetLabel(pod, api::kPreferredNodeAffinityLabel, api::kNotSet);
  if (LabelOf(pod, api::kLocalGateLabel) == api::kRemoved) RemoveLabel(pod, api::kLocalGateLabel);
}

}  // namespace

bool WasPlacedAtCreation(const kube::core::Pod& pod) {
  return HasLabel(pod, api::kPlacedAtCreationLabel);
}

bool PlaceAtCreation(kube::core::Pod& pod, ClusterDecision decision) {
  if (pod.spec().scheduling_gates_size() > 0) return false;
  if (WasPlacedAtCreation(pod)) {
    // Those of the first call would be duplicates of themselves.
    decision.preferences_decided = true;
    decision.cluster_platforms = {};
  } else {
    ResetLabels(pod);
    if (NeedsRequirement(pod)) RequiredTerms::Record(pod);
  }
  if (!decision.platforms && NeedsInspection(pod)) return false;

  pod.mutable_spec()->add_scheduling_gates()->set_name(std::string(api::kClusterGate));
  Release release = ReleaseCluster(pod, decision);
  if (!release.placed || !std::all_of(release.events.begin(), release.events.end(), IsConfirmation))
    return false;
  SetLabel(pod, api::kClusterGateLabel, api::kNotSet);
  SetLabel(pod, api::kPlacedAtCreationLabel, "");
  return true;
}

bool PlaceBehindLocalGate(kube::core::Pod& pod, const ClusterDecision& decision) {
  const api::ArchitectureTolerations* tolerations = decision.cluster_tolerations;
  if (!DropGate(pod, api::kLocalGate) || (tolerations != nullptr && tolerations->enabled))
    return false;
  DropGate(pod, api::kClusterGate);
  // DropGate() sets the labels of a release.
  if (!PlaceAtCreation(pod, decision)) return false;
  pod.mutable_spec()->add_scheduling_gates()->set_name(std::string(api::kLocalGate));
  SetLabel(pod, api::kLocalGateLabel, api::kGated);
  if (decision.namespace_takes_precedence)
    SetLabel(pod, api::kPlacedAtCreationLabel, api::kYieldsToNamespace);
  return true;
}

}  // namespace placement
