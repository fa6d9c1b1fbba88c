// SPDX-License-Identifier: Apache-2.0
// OwnNodes: the nodes of one flow, which are deleted with its fixture.
//
//   OwnNodes nodes_;  // a member of the fixture
//   Flow(scene(), "a node").Do(nodes_.Add(MakeNode(name, architecture)));
#pragma once

#include <string>
#include <vector>

#include "e2e/framework/steps.h"

namespace e2e {

class OwnNodes {
 public:
  OwnNodes() = default;
  OwnNodes(const OwnNodes&) = delete;
  OwnNodes& operator=(const OwnNodes&) = delete;
  ~OwnNodes();

  // Creates the node.
  Step Add(Json node);

 private:
  std::vector<std::string> names_;
};

}  // namespace e2e
