// SPDX-License-Identifier: Apache-2.0
// Release: the change that drops a pod's gate and sets everything that was decided for the pod. It
// is ONE write, so that no pod is ever ungated without its preferences and requirement (I2). Pure:
// the caller writes the pod with the resourceVersion that was read, then records the events.
//
// A pod with gates of other controllers is released in two writes. Its tolerations come in the
// second one: Kueue compares them with those of the Workload until it has admitted the pod, and
// deletes a pod that differs. (It does not compare the node affinity; pkg/util/equality/podset.go.)
//   1  all but the tolerations; the cluster gate stays (ClusterDecision::await_other_gates)
//   2  once it is the last gate: the requirement for what the images are then (narrowing.h),
//      tolerations, and the gate
//
//   Release release = ReleaseLocal(pod, ConfigsFor(pod, all));
//   if (!release.released) return;  // the pod does not have the gate: nothing to write
//   ... PUT pod; on a conflict, read the pod and decide again ...
//
// Never throws or fails, for any pod. A second call on the same pod changes nothing.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/architecture_tolerations.h"
#include "api/platform.h"
#include "kube/types/core.pb.h"
#include "placement/matching_configs.h"
#include "placement/platforms.h"

namespace placement {

struct PodEvent {
  std::string_view reason;  // from api/names.h
  std::string message;
  bool warning = false;
};

struct Release {
  // True: the pod was changed and must be written. False: the pod does not have the gate and is
  // unchanged.
  bool released = false;
  // The cluster gate stays: the pod waits for the gates of other controllers.
  bool awaits_other_gates = false;
  // Placed by architecture and ungated: what the pod requires now decides where it runs. Not for
  // ignored pods, and not if only the gates were removed.
  bool placed = false;
  // More than placement needs was added: tolerations. If the API server refuses the pod, it may
  // accept it without.
  bool additions = false;
  std::vector<PodEvent> events;
};

// For the shard: sets the preferences of `configs` and drops the local gate. If the pod's
// tolerations come from one of them, its name is in the annotation local-tolerations: the cluster
// controller, which knows the images, need not read the configs for other pods.
//
// A pod that was placed at its creation (placed_at_creation.h) waits for nothing else: the
// cluster's preferences come after those of `configs`, and the tolerations of `configs` are added
// unless `without_tolerations`: the API server has refused the pod with them.
Release ReleaseLocal(kube::core::Pod& pod, const MatchingConfigs& configs,
                     bool without_tolerations = false);

// The input of ReleaseCluster().
struct ClusterDecision {
  // Those that apply to the pod.
  MatchingConfigs configs;
  // The shard has set their preferences: only their tolerations apply.
  bool preferences_decided = false;
  // ClusterPodPlacementConfig::Preferences().
  std::span<const api::Platform> cluster_platforms;
  // ClusterPodPlacementConfig::NamespaceTakesPrecedence().
  bool namespace_takes_precedence = false;
  // ClusterPodPlacementConfig::Tolerations(): decides if none of `configs` does. Not owned.
  const api::ArchitectureTolerations* cluster_tolerations = nullptr;
  // The API server has refused the pod with tolerations: adds none.
  bool without_tolerations = false;
  // Common to all images; nullopt if all attempts to inspect them failed. Ignored if the pod takes
  // no requirement (NeedsRequirement() in requirement.h): its images need no inspection.
  std::optional<CommonPlatforms> platforms;
  // Not empty: `platforms` are those of an earlier inspection, and why.
  std::string stale_inspection;
  // If `platforms` is nullopt: the last error, the number of attempts (0: not counted), and the
  // architecture to require instead ("" for none).
  std::string inspection_error;
  int inspection_tries = 0;
  std::string fallback_architecture;
  // The cluster gate stays while the pod has gates of other controllers. Without a result of the
  // inspection, the pod gets no fallback architecture yet: its images are inspected again.
  bool await_other_gates = false;
  // Not empty: why the gate is dropped although the pod has gates of other controllers.
  std::string not_awaited = {};
  // The shard of the pod's namespace is unavailable: drops both gates, with an event, and names the
  // config of the tolerations as ReleaseLocal() does. If false, a pod with the local gate is not
  // released (I1).
  bool take_over_shard = false;
};

// For the cluster controller: sets requirement, preferences, tolerations, labels and annotations,
// and drops the cluster gate. Tolerations come only with a requirement from inspected images: never
// with the fallback architecture, not if the user constrains the architecture everywhere, and not
// to a pod with gates of other controllers.
Release ReleaseCluster(kube::core::Pod& pod, const ClusterDecision& decision);

// True if there is nothing to set while a pod with the cluster gate alone awaits the gates of other
// controllers: it has a requirement, of this operator or of its author, or all attempts to inspect
// its images have failed (`max_tries`). A new leader sees it in the pod as well.
bool IsDecided(const kube::core::Pod& pod, int max_tries);

// Whether the images of a pod with the cluster gate must be inspected: for its requirement, or once
// more before its last gate is dropped.
bool NeedsInspection(const kube::core::Pod& pod);

// For the cluster controller in place of an unavailable shard, for a pod without the cluster gate.
Release TakeOverLocal(kube::core::Pod& pod, const MatchingConfigs& configs,
                      bool without_tolerations = false);

// For a gated pod that is not placed by architecture (ignored.h): only drops `gate`, and with the
// cluster gate also the local one.
Release ReleaseIgnored(kube::core::Pod& pod, std::string_view gate);

// As ReleaseIgnored() without its event, after the API server has refused a release with more
// changes.
Release ReleaseBare(kube::core::Pod& pod, std::string_view gate);

}  // namespace placement
