// SPDX-License-Identifier: Apache-2.0
// What reads untrusted bytes, each as a function that ends the process when a promise of its header
// is broken.
#pragma once

#include <string>
#include <vector>

namespace fuzz {

struct FuzzTarget {
  std::string name;  // its corpus is fuzz/corpus/NAME
  void (*run)(const std::string& input);
};

// What registries, pull secrets and the files that configure inspection say.
std::vector<FuzzTarget> InspectionTargets();
// What comes from the API server, and from users through it.
std::vector<FuzzTarget> ApiTargets();

}  // namespace fuzz
