// SPDX-License-Identifier: Apache-2.0
// PlacementPatch: the JSON Patch that makes of a pod in a review what placement has made of it. It
// adds what is new and leaves the rest alone, fields that this version does not know included.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kube/types/core.pb.h"

namespace webhook {

// A pod as placement reads it, and which of its parts exist in the JSON: a JSON Patch cannot add to
// an absent parent.
struct PodInReview {
  kube::core::Pod pod;
  bool has_labels = false;
  bool has_annotations = false;
  bool has_affinity = false;
  bool has_node_affinity = false;
  bool has_preferred = false;
  bool has_tolerations = false;
  // For each required term, whether it has expressions.
  std::vector<bool> terms_with_expressions;
};

// nullopt if `placed` is not `before` with more expressions, terms, preferences and tolerations
// after the present ones, and with fewer gates.
std::optional<std::string> PlacementPatch(const PodInReview& before, const kube::core::Pod& placed);

}  // namespace webhook
