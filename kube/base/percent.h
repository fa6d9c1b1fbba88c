// SPDX-License-Identifier: Apache-2.0
// Percent-encoding, RFC 3986.
#pragma once

#include <string>
#include <string_view>

#include "kube/base/error.h"

namespace kube {

// "a b/c" -> "a%20b%2Fc": all but letters, digits and "-._~". What comes out cannot leave its place
// in a URL or a form.
std::string PercentEncode(std::string_view text);

// "%41b" -> "Ab". kInvalid for a broken escape.
Result<std::string> PercentDecode(std::string_view text);

}  // namespace kube
