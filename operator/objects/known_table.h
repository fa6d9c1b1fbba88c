// SPDX-License-Identifier: Apache-2.0
// KnownTable: what a policy needs to place pods of known images (known_images_cel.h): their names
// as authors write them, and what a pod of them gets.
//
//   size_t found = table.combinations.at("ac");    // the letters of the pod's images
//   table.placements[found].node_affinity
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "kube/types/unstructured.h"

namespace operator_ {

// Different platforms of images: a to h.
inline constexpr size_t kMaxLetters = 8;

// What a pod gets.
struct TablePlacement {
  kube::Json node_affinity;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;

  bool operator==(const TablePlacement&) const = default;
};

struct KnownTable {
  // The letter of each name: images with equal platforms have the same. A name needs no escape in
  // an expression.
  std::map<std::string, char> images;
  // Letters in their order, each once, and a position in `placements`. What is not here is gated.
  std::map<std::string, size_t> combinations;
  std::vector<TablePlacement> placements;

  bool empty() const { return images.empty() || combinations.empty(); }
};

}  // namespace operator_
