// SPDX-License-Identifier: Apache-2.0
// Traits: what pods of plans may have, each independent of the others, so that a plan can be made
// smaller by leaving some out.
#pragma once

#include <string>
#include <vector>

#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace sim {

struct PodTrait {
  std::string name;
  // One pod of so many has it.
  int once_in;
  void (*apply)(kube::Json& pod);
};

const std::vector<PodTrait>& PodTraits();
std::vector<std::string> PodTraitNames();

// A pod with a container for each image. Traits without an entry are ignored.
kube::Json PodOf(const kube::ObjectKey& key, const std::vector<std::string>& images,
                 const std::vector<std::string>& traits);

}  // namespace sim
