// SPDX-License-Identifier: Apache-2.0
// What may stand in a header field, so that nothing breaks out of its line. Source: RFC 9110, 5.5
// and 5.6.2.
#pragma once

#include <string_view>

namespace kube {

// One character of a token: letters, digits, and "!#$%&'*+-.^_`|~".
bool IsTokenChar(char c);
// A field's name, or a method: one character or more.
bool IsToken(std::string_view text);
// Anything but control characters; a tab is none of those.
bool IsFieldValue(std::string_view text);

}  // namespace kube
