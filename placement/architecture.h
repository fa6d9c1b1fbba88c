// SPDX-License-Identifier: Apache-2.0
// ArchitectureSet: the architectures that an image or a pod supports, by their GOARCH names
// ("amd64").
#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "api/architecture.h"

namespace placement {

using ArchitectureSet = std::set<std::string>;

// What a pod supports whose images never run (operator bundles): the architectures of the Go
// operator, which has the same requirement. Where another image runs, that one decides alone.
inline const ArchitectureSet& AllArchitectures() {
  static const ArchitectureSet all = {"amd64", "arm64", "ppc64le", "s390x"};
  return all;
}

// Of a pod: in its requirement, and in its preferences from configs. No real image supports more
// than a dozen.
inline constexpr size_t kMaxArchitectures = 32;

// The architecture names in `architectures`, at most kMaxArchitectures. Images are untrusted: the
// API server would refuse other names as part of a label.
inline ArchitectureSet OnlyNames(const ArchitectureSet& architectures) {
  ArchitectureSet names;
  for (const std::string& architecture : architectures) {
    if (api::IsArchitectureName(architecture) && names.size() < kMaxArchitectures)
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
