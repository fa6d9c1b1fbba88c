// SPDX-License-Identifier: Apache-2.0
// How long a fact counts at the creation of a pod, from when the registry has said it.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "image-facts/fact_scope.h"
#include "inspection/base/timing.h"

namespace image_facts {

// What a tag named, for a pod with imagePullPolicy Always: as the cluster controller's cache does.
inline constexpr std::chrono::seconds kAlwaysLifetime =
    std::chrono::duration_cast<std::chrono::seconds>(inspection::kTagLifetime);
// For other pods: a node may use an image that it pulled long ago.
inline constexpr std::chrono::minutes kTagLifetime{10};
// With the pull secrets of a pod, also by digest: a Secret may have been changed or deleted since.
// With the credentials of the cluster, that takes as long as for a tag.
inline constexpr std::chrono::seconds kPullSecretLifetime{90};
// The clock of whoever has read it may be ahead by this.
inline constexpr std::chrono::seconds kClockSkew{30};

struct FactUse {
  std::string_view image;       // inspection::Reference::ToString()
  std::string_view scope = "";  // fact_scope.h
  bool always_pull = false;
};

// nullopt: without end, as a digest never names another image.
constexpr std::optional<std::chrono::seconds> LifetimeOf(const FactUse& use) {
  bool by_digest = use.image.find('@') != std::string_view::npos;
  if (!by_digest && use.always_pull) return kAlwaysLifetime;
  if (IsOfSomePods(use.scope)) return kPullSecretLifetime;
  if (by_digest && use.scope.empty()) return std::nullopt;
  return kTagLifetime;
}

}  // namespace image_facts
