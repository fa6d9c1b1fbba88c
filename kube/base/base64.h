// SPDX-License-Identifier: Apache-2.0
// Base64 of RFC 4648, section 4: the alphabet of HTTP, PEM, kubeconfigs and Secrets.
#pragma once

#include <string>
#include <string_view>

#include "kube/base/error.h"

namespace kube {

std::string Base64Encode(std::string_view bytes);

// Skips white space and accepts missing padding. Errors: kInvalid for other characters.
Result<std::string> Base64Decode(std::string_view text);

}  // namespace kube
