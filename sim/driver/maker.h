// SPDX-License-Identifier: Apache-2.0
// Maker: what the operations of one plan are made with: random numbers, and the names that the plan
// has used. There are few names, so that operations meet.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kube/types/resource.h"
#include "kube/types/unstructured.h"
#include "sim/base/random.h"

namespace sim {

class Maker {
 public:
  explicit Maker(Random random) : random_(random) {}

  Random& random() { return random_; }

  std::string Namespace() { return random_.Of(Namespaces()); }
  // Of a PodPlacementConfig.
  std::string Config() { return random_.Of(Configs()); }
  kube::ObjectKey NewPod();
  // One of the plan so far; if there is none, a name that no pod has.
  kube::ObjectKey Pod();
  std::string Image();
  std::string Architecture();
  // From `least` to `most`.
  int64_t Number(int64_t least, int64_t most);
  // Some of `items`, each once, in their order. `once_in`: of how many one is taken.
  std::vector<std::string> Some(const std::vector<std::string>& items, uint64_t once_in);

  static const std::vector<std::string>& Namespaces();
  static const std::vector<std::string>& Configs();
  static const std::vector<std::string>& Architectures();

 private:
  Random random_;
  std::vector<kube::ObjectKey> pods_;
};

}  // namespace sim
