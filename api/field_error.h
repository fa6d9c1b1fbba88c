// SPDX-License-Identifier: Apache-2.0
// FieldError: why one field of an object is refused, for the user who wrote it.
#pragma once

#include <string>
#include <vector>

namespace api {

struct FieldError {
  std::string field;    // "spec.plugins.nodeAffinityScoring.platforms[1].weight"
  std::string message;  // "must be between 1 and 100"

  bool operator==(const FieldError&) const = default;
};

using FieldErrors = std::vector<FieldError>;

// "spec.priority: must be between 0 and 255; spec.plugins: is required"
inline std::string Describe(const FieldErrors& errors) {
  std::string text;
  for (const FieldError& error : errors) {
    if (!text.empty()) text += "; ";
    text += error.field + ": " + error.message;
  }
  return text;
}

}  // namespace api
