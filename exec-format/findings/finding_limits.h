// SPDX-License-Identifier: Apache-2.0
// How many ImageFindings are kept, and for how long. Pure. A tenant can build any number of images
// that do not run, so each namespace has its share: the oldest finding of the namespace with the
// most goes.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "exec-format/findings/image_finding.h"

namespace exec_format {

// Each has less than 3 KiB.
inline constexpr size_t kMaxFindings = 512;
inline constexpr size_t kMaxFindingsOfNamespace = 32;
inline constexpr std::chrono::hours kFindingLifetime{30 * 24};
// What is found again within this time is not written again.
inline constexpr std::chrono::hours kFindingRefresh{24};

// Those of an administrator do not expire.
bool IsExpired(const ImageFinding& finding, std::chrono::sys_seconds now);

// The names of those to delete, so that there is room for one more, of a pod of `ns`. Those of an
// administrator stay, and do not count.
std::vector<std::string> MakeRoom(const std::vector<ImageFinding>& all, std::string_view ns);

}  // namespace exec_format
