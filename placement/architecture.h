// SPDX-License-Identifier: Apache-2.0
// ArchitectureSet: the architectures that an image, or all images of a pod, can run on; GOARCH
// names ("amd64").
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

namespace placement {

using ArchitectureSet = std::set<std::string>;

// What a configuration may name, and what an image stands for that runs nowhere itself (an operator
// bundle).
inline const ArchitectureSet& AllArchitectures() {
  static const ArchitectureSet all = {"amd64", "arm64", "ppc64le", "s390x"};
  return all;
}

// Lower-case letters and digits, at most 32. What an image says is untrusted: anything else would
// be refused as a label value, or be mistaken for a label of ours (those all have a '-').
inline bool IsArchitectureName(std::string_view name) {
  constexpr size_t kMaxLength = 32;
  return !name.empty() && name.size() <= kMaxLength &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
}

// Those of `architectures` that are architecture names, at most 32 of them; no real image supports
// more than a dozen.
inline ArchitectureSet OnlyNames(const ArchitectureSet& architectures) {
  constexpr size_t kMaxArchitectures = 32;
  ArchitectureSet names;
  for (const std::string& architecture : architectures) {
    if (IsArchitectureName(architecture) && names.size() < kMaxArchitectures)
      names.insert(architecture);
  }
  return names;
}

// "amd64, arm64"
inline std::string Join(const ArchitectureSet& architectures) {
  std::string text;
  for (const std::string& architecture : architectures)
    text += (text.empty() ? "" : ", ") + architecture;
  return text;
}

}  // namespace placement
