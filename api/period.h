// SPDX-License-Identifier: Apache-2.0
// Durations of the API, as in Go: "30s", "5m", "1h30m".
#pragma once

#include <chrono>
#include <string_view>

#include "api/fields.h"
#include "kube/base/error.h"

namespace api {

// kInvalid for any other text, for fractions, and for a duration outside `period`, which must not
// exceed a day.
kube::Result<std::chrono::seconds> ParsePeriod(std::string_view text, Period period);

}  // namespace api
