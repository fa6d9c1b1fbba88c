// SPDX-License-Identifier: Apache-2.0
// AddOnPlacementScore (OCM, v1alpha1): scores of one cluster, in the cluster's namespace.
// FromJson() accepts every object: what is wrong is left out and listed in `problems`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "api/field_error.h"
#include "fleet/api/names.h"
#include "kube/base/clock.h"
#include "kube/base/error.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace fleet {

inline constexpr size_t kMaxScores = 1000;  // of one object
inline constexpr int64_t kMinScore = -100;
inline constexpr int64_t kMaxScore = 100;

struct AddOnPlacementScore {
  // kInvalid only if `json` is not a JSON object.
  static kube::Result<AddOnPlacementScore> FromJson(const kube::Json& json);

  std::string cluster;  // the namespace
  std::string name;
  std::map<std::string, int32_t, std::less<>> scores;  // kMinScore..kMaxScore
  std::optional<kube::WallTime> valid_until;           // nullopt: always
  api::FieldErrors problems;
};

inline constexpr kube::Resource kAddOnPlacementScores{kGroup, "v1alpha1", "addonplacementscores",
                                                      "AddOnPlacementScore"};

}  // namespace fleet
