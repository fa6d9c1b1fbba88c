// SPDX-License-Identifier: Apache-2.0
// Base64 as in RFC 4648, section 4: the alphabet of HTTP, PEM, kubeconfigs and Secrets.
#pragma once

#include <string>
#include <string_view>

#include "kube/base/error.h"

namespace kube {

std::string Base64Encode(std::string_view bytes);

// White space is skipped, missing padding is forgiven. kInvalid for any other character.
Result<std::string> Base64Decode(std::string_view text);

}  // namespace kube
