// SPDX-License-Identifier: Apache-2.0
#include "image-facts/webhook/known_images.h"

#include <optional>
#include <utility>
#include <variant>

#include "api/names.h"
#include "image-facts/by_config.h"
#include "placement/gate.h"
#include "placement/placed_at_creation.h"
#include "placement/release.h"

namespace image_facts {

using placement::CommonPlatforms;

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
    if (!AllowsPlacing(config)) return;
    allowed = true;
    placed = PlaceBy(config, pod);
  });
  if (!allowed) metrics_.other.Increment();
  return placed;
}

bool KnownImages::PlaceBy(const api::ClusterPodPlacementConfig& config, kube::core::Pod& pod) {
  std::optional<CommonPlatforms> common;
  if (placement::NeedsInspection(pod)) {
    auto known = facts_.PlatformsOf(pod);
    if (const auto* why = std::get_if<NotKnown>(&known)) {
      CounterOf(*why).Increment();
      return false;
    }
    common = std::get<CommonPlatforms>(std::move(known));
  }
  placement::ClusterDecision decision = DecisionBy(config, std::move(common));
  bool placed = placement::HasGate(pod, api::kLocalGate)
                    ? placement::PlaceBehindLocalGate(pod, decision)
                    : placement::PlaceAtCreation(pod, std::move(decision));
  (placed ? metrics_.placed : metrics_.other).Increment();
  return placed;
}

}  // namespace image_facts
