// SPDX-License-Identifier: Apache-2.0
// Percent-encoding, RFC 3986.
#pragma once

#include <string>
#include <string_view>

#include "kube/base/error.h"

namespace kube {

// "a b/c" -> "a%20b%2Fc". Encodes all bytes except letters, digits and "-._~": the result is safe
// in every part of a URL and in a form.
std::string PercentEncode(std::string_view text);

// "%41b" -> "Ab". Errors: kInvalid for a malformed escape.
Result<std::string> PercentDecode(std::string_view text);

}  // namespace kube
