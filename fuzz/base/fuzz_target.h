// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace fuzz {

// Ends the process if the parser violates the contract in its header.
struct FuzzTarget {
  std::string name;  // its corpus is fuzz/corpus/NAME
  void (*run)(const std::string& input);
};

}  // namespace fuzz
