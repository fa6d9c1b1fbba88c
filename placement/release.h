// SPDX-License-Identifier: Apache-2.0
// Release: the ONE change that drops a pod's gate together with all that was decided for it, so
// that a pod is never seen ungated and half done. Pure: the caller writes the pod, guarded by the
// resourceVersion that it was decided on, and records the events once it is written.
//
//   Release release = ReleaseLocal(pod, ConfigsFor(pod, all));
//   if (!release.released) return;                      // no gate of ours: nothing to write
//   ... PUT pod; on conflict read it again and decide again ...
//
// Nothing here throws or fails, whatever the pod holds; deciding twice is deciding once.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/platform.h"
#include "kube/types/core.pb.h"
#include "placement/architecture.h"
#include "placement/configs.h"

namespace placement {

struct PodEvent {
  std::string_view reason;  // of api/names.h
  std::string message;
  bool warning = false;
};

struct Release {
  // The pod was changed and is to be written. False: it has no gate that this release is for, and
  // is untouched.
  bool released = false;
  std::vector<PodEvent> events;
};

// The shard's: preferences of `configs` (as ConfigsFor() gives them), label local-scheduling-gate:
// removed, no local gate.
Release ReleaseLocal(kube::core::Pod& pod, const Configs& configs);

// What the cluster's controller knows when it lets a pod go.
struct ClusterDecision {
  // As ConfigsFor() gives them. What the shard applied already stays as it is; what it missed is
  // made up for here.
  Configs configs;
  // ClusterPodPlacementConfig::Preferences().
  std::span<const api::Platform> cluster_platforms;
  // That all images have in common; empty if they have none in common; nullopt if the inspection
  // gave up. Not looked at, so that nothing need be inspected, where the pod takes no requirement
  // (NeedsRequirement() in requirement.h).
  std::optional<ArchitectureSet> architectures;
  // With nullopt above: why, after how many tries (0: not counted), and what is required instead
  // ("" for nothing).
  std::string inspection_error;
  int inspection_tries = 0;
  std::string fallback_architecture;
  // The shard of the pod's namespace is dead: both gates go, and the event says so. Without it a
  // pod that has the local gate is not released.
  bool take_over_shard = false;
};

// The cluster's: requirement, preferences, labels, annotations; label scheduling-gate: removed, no
// cluster gate.
Release ReleaseCluster(kube::core::Pod& pod, const ClusterDecision& decision);

// The shard's, by the cluster's controller: for a pod that has the local gate alone, in whose
// namespace no shard works.
Release TakeOverLocal(kube::core::Pod& pod, const Configs& configs);

// For a gated pod that is not ours to place (any more): drops `gate` and sets nothing but the
// gate's label. Whoever drops the cluster gate drops the local one with it.
Release ReleaseIgnored(kube::core::Pod& pod, std::string_view gate);

// The last resort, when the API server refuses what was decided: the same, but for the event.
Release ReleaseBare(kube::core::Pod& pod, std::string_view gate);

}  // namespace placement
