// SPDX-License-Identifier: Apache-2.0
// The names of architectures, as in the node label kubernetes.io/arch: GOARCH names ("riscv64").
// One rule for what users write into a config and for what an image says about itself.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace api {

// The architectures for which Go builds programs for Linux or Windows (`go tool dist list`). A
// kubelet labels its node with the architecture that it was built for, so no other label is usual.
// Other names are accepted, with a warning where a user writes one.
inline constexpr std::array<std::string_view, 13> kKnownArchitectures = {
    "386",      "amd64",  "arm",   "arm64",   "loong64", "mips", "mips64",
    "mips64le", "mipsle", "ppc64", "ppc64le", "riscv64", "s390x"};

// Names that are refused: the first means in an image that it has no architecture, the second is
// the operator's own label with the prefix of the labels of architectures (kOperandLabel).
inline constexpr std::array<std::string_view, 2> kNoArchitectures = {"unknown", "operand"};

inline constexpr size_t kMaxArchitectureName = 32;

// Lower-case letters and digits, at most 32, and none of kNoArchitectures. So a name can be the
// value of a label, and the end of a label's key; the operator's other labels contain a '-'.
constexpr bool IsArchitectureName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxArchitectureName &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }) &&
         std::find(kNoArchitectures.begin(), kNoArchitectures.end(), name) ==
             kNoArchitectures.end();
}

constexpr bool IsKnownArchitecture(std::string_view name) {
  return std::find(kKnownArchitectures.begin(), kKnownArchitectures.end(), name) !=
         kKnownArchitectures.end();
}

}  // namespace api
