// SPDX-License-Identifier: Apache-2.0
// ArchitectureSet: the architectures that an image or a pod supports, by their GOARCH names
// ("amd64").
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "api/platform.h"

namespace placement {

using ArchitectureSet = std::set<std::string>;

// The architectures that a config can name. An image that never runs (an operator bundle) supports
// all of them.
inline const ArchitectureSet& AllArchitectures() {
  static const ArchitectureSet all(api::kArchitectures.begin(), api::kArchitectures.end());
  return all;
}

// Lower-case letters and digits, at most 32. Images are untrusted: the API server would refuse
// other names as part of a label, and a name with '-' could be one of the operator's labels.
inline bool IsArchitectureName(std::string_view name) {
  constexpr size_t kMaxLength = 32;
  return !name.empty() && name.size() <= kMaxLength &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
}

// The architecture names in `architectures`, at most 32; no real image supports more than a dozen.
inline ArchitectureSet OnlyNames(const ArchitectureSet& architectures) {
  constexpr size_t kMaxArchitectures = 32;
  ArchitectureSet names;
  for (const std::string& architecture : architectures) {
    if (IsArchitectureName(architecture) && names.size() < kMaxArchitectures)
      names.insert(architecture);
  }
  return names;
}

// "amd64, arm64"; also of operating systems.
inline std::string Join(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace placement
