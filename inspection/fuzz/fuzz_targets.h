// SPDX-License-Identifier: Apache-2.0
// What reads untrusted text, each as a function that ends the process when a promise of its header is broken.
#pragma once

#include <string>
#include <vector>

namespace inspection {

struct FuzzTarget {
  std::string name;  // its corpus is inspection/testdata/corpus/NAME
  void (*run)(const std::string& input);
};

const std::vector<FuzzTarget>& FuzzTargets();

}  // namespace inspection
