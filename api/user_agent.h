// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace api {

// The User-Agent of a binary. The API server takes "multiarch-pod-placement" as the field manager
// of its updates and patches.
inline std::string UserAgent(std::string_view binary) {
  return "multiarch-pod-placement/" + std::string(binary);
}

}  // namespace api
