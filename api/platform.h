// SPDX-License-Identifier: Apache-2.0
// Platform: one line of a configuration's preferences. "nodes of `architecture` count `weight`
// more".
#pragma once

#include <cstdint>
#include <string>

namespace api {

struct Platform {
  std::string architecture;  // arm64, amd64, ppc64le or s390x
  int32_t weight = 0;        // 1 to 100

  bool operator==(const Platform&) const = default;
};

}  // namespace api
