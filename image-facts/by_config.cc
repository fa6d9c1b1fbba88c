// SPDX-License-Identifier: Apache-2.0
#include "image-facts/by_config.h"

#include <utility>

#include "api/known_images.h"
#include "api/names.h"

namespace image_facts {

bool AllowsPlacing(const api::ClusterPodPlacementConfig& config) {
  // The cluster controller adds to gated pods what the webhook of scheduling policies missed.
  return config.metadata().name() == api::kClusterConfigName &&
         !config.metadata().has_deletion_timestamp() &&
         config.spec.known_images == api::kPlaceKnownImages &&
         config.EnabledSchedulingPolicies() == nullptr;
}

placement::ClusterDecision DecisionBy(const api::ClusterPodPlacementConfig& config,
                                      std::optional<placement::CommonPlatforms> common) {
  placement::ClusterDecision decision;
  if (common && !config.WantsAmd64Levels()) common->amd64_level = 0;
  decision.platforms = std::move(common);
  decision.cluster_platforms = config.Preferences();
  decision.namespace_takes_precedence = config.NamespaceTakesPrecedence();
  decision.cluster_tolerations = config.Tolerations();
  return decision;
}

}  // namespace image_facts
