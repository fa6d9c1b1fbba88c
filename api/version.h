// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace api {

// The text of the file VERSION. Printed by --version, and part of the status of a
// PodPlacementConfig. It is linked in, and not compiled in, so that a test can link the programs
// with another one (e2e/old_release).
extern const std::string_view kVersion;

}  // namespace api
