// SPDX-License-Identifier: Apache-2.0
// metav1.Time and MicroTime as numbers and as text, to the nanosecond: a translation loses nothing
// that a client wrote.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kube/base/error.h"

namespace kube {

struct WireTime {
  int64_t seconds = 0;
  int32_t nanos = 0;
};

// "2026-01-31T23:59:59Z"; with `micro`, or where it is not 0, with a fraction.
// Errors: kInvalid before 1970 and after 2260.
Result<std::string> WireTimeText(WireTime time, bool micro);
// Errors: kInvalid for a text that is not RFC 3339.
Result<WireTime> ParseWireTime(std::string_view text);

}  // namespace kube
