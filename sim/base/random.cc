// SPDX-License-Identifier: Apache-2.0
#include "sim/base/random.h"

namespace sim {

kube::Duration Random::Between(kube::Duration least, kube::Duration most) {
  using std::chrono::milliseconds;
  auto span = std::chrono::duration_cast<milliseconds>(most - least).count();
  return least + milliseconds(Below(static_cast<uint64_t>(span) + 1));
}

}  // namespace sim
