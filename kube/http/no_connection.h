// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace kube {

// Error::reason() of a call for which no connection could be opened; the code is kUnavailable.
inline constexpr char kNoConnection[] = "NoConnection";

}  // namespace kube
