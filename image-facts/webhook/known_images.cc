// SPDX-License-Identifier: Apache-2.0
#include "image-facts/webhook/known_images.h"

#include <utility>
#include <variant>

#include "api/known_images.h"
#include "api/names.h"
#include "placement/gate.h"
#include "placement/placed_at_creation.h"
#include "placement/release.h"

namespace image_facts {
namespace {

using placement::CommonPlatforms;

bool Allows(const api::ClusterPodPlacementConfig& config) {
  // The cluster controller adds to gated pods what the webhook of scheduling policies missed.
  return config.metadata().name() == api::kClusterConfigName &&
         !config.metadata().has_deletion_timestamp() &&
         config.spec.known_images == api::kPlaceKnownImages &&
         config.EnabledSchedulingPolicies() == nullptr;
}

}  // namespace

KnownImages::KnownImages(kube::Client& client, kube::Clock& clock, std::string ns,
                         KnownImagesMetrics& metrics)
    : facts_(client, clock, std::move(ns)), configs_(client, clock, {}), metrics_(metrics) {
  facts_.OnChange([this] { metrics_.facts.Set(static_cast<double>(facts_.size())); });
}

void KnownImages::Start(kube::TaskGroup& tasks) {
  tasks.Spawn("image-facts", facts_.Run());
  tasks.Spawn("cluster-config", configs_.Run());
}

kube::Counter& KnownImages::CounterOf(NotKnown why) {
  switch (why) {
    case NotKnown::kNotCurrent:
      return metrics_.not_current;
    case NotKnown::kNeverRead:
      return metrics_.never_read;
    case NotKnown::kTooOld:
      return metrics_.too_old;
    case NotKnown::kOfNoRegistry:
      return metrics_.of_no_registry;
  }
  return metrics_.other;
}

bool KnownImages::Place(kube::core::Pod& pod) {
  if (!configs_.current()) {
    metrics_.not_current.Increment();
    return false;
  }
  bool placed = false, allowed = false;
  configs_.ForEach([&](const api::ClusterPodPlacementConfig& config) {
    if (!Allows(config)) return;
    allowed = true;
    placed = PlaceBy(config, pod);
  });
  if (!allowed) metrics_.other.Increment();
  return placed;
}

bool KnownImages::PlaceBy(const api::ClusterPodPlacementConfig& config, kube::core::Pod& pod) {
  placement::ClusterDecision decision;
  if (placement::NeedsInspection(pod)) {
    auto known = facts_.PlatformsOf(pod);
    if (const auto* why = std::get_if<NotKnown>(&known)) {
      CounterOf(*why).Increment();
      return false;
    }
    decision.platforms = std::get<CommonPlatforms>(std::move(known));
    if (!config.WantsAmd64Levels()) decision.platforms->amd64_level = 0;
  }
  decision.cluster_platforms = config.Preferences();
  decision.namespace_takes_precedence = config.NamespaceTakesPrecedence();
  decision.cluster_tolerations = config.Tolerations();
  bool placed = placement::HasGate(pod, api::kLocalGate)
                    ? placement::PlaceBehindLocalGate(pod, decision)
                    : placement::PlaceAtCreation(pod, std::move(decision));
  (placed ? metrics_.placed : metrics_.other).Increment();
  return placed;
}

}  // namespace image_facts
