// SPDX-License-Identifier: Apache-2.0
// Valid characters of header fields: a request must not be able to inject another line. Source: RFC
// 9110, 5.5 and 5.6.2.
#pragma once

#include <string_view>

namespace kube {

// One character of a token: letters, digits, and "!#$%&'*+-.^_`|~".
bool IsTokenChar(char c);
// A field name or method: one token character or more.
bool IsToken(std::string_view text);
// No control characters except tab.
bool IsFieldValue(std::string_view text);

}  // namespace kube
