// SPDX-License-Identifier: Apache-2.0
// JSON strings without a JSON library, for responses that are written thousands of times a second.
#pragma once

#include <string>
#include <string_view>

namespace kube {

// Appends `text` as a JSON string with quotes. Bytes that are not UTF-8 become U+FFFD.
void AppendJsonString(std::string& out, std::string_view text);

// `text` as a JSON string with quotes.
std::string JsonString(std::string_view text);

}  // namespace kube
