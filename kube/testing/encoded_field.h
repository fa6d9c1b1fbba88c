// SPDX-License-Identifier: Apache-2.0
// EncodedField(): a string, bytes or message field in protobuf's encoding, for fields that the
// .proto files leave unknown.
//
//   node.MergeFromString(EncodedField(3, EncodedField(1, "x")));
#pragma once

#include <string>
#include <string_view>

namespace kube {

// A number of protobuf's wire format.
inline std::string EncodedVarint(size_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

inline std::string EncodedField(size_t number, std::string_view content) {
  constexpr size_t kLengthDelimited = 2;
  return EncodedVarint(number << 3 | kLengthDelimited) + EncodedVarint(content.size()) +
         std::string(content);
}

}  // namespace kube
