// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace kube {

// Error::reason() of a response whose body is larger than allowed; the code is kInvalid.
inline constexpr char kBodyTooLarge[] = "BodyTooLarge";

}  // namespace kube
