// SPDX-License-Identifier: Apache-2.0
// An event of a pod, after its release: what it requires is on no node.
#pragma once

#include <string_view>

namespace api {

inline constexpr std::string_view kReasonNoNodeOffersArchitecture =
    "ArchAwareNoNodeOffersArchitecture";

}  // namespace api
