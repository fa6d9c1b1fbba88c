// SPDX-License-Identifier: Apache-2.0
// PlacementDecision (OCM, v1beta1): some of the clusters that a Placement selected; this hub and
// OCM's controller write at most 100, other writers may write more. FromJson() accepts every
// object.
//
// A hub that holds many decisions should keep less than this struct: 48 bytes for each entry.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/field_error.h"
#include "fleet/api/names.h"
#include "kube/base/error.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace fleet {

// Entries that are read of one PlacementDecision.
inline constexpr size_t kMaxDecisionsRead = 10'000;

struct Decision {
  std::string cluster;
  std::optional<int64_t> score;

  bool operator==(const Decision&) const = default;
};

struct PlacementDecision {
  // kInvalid only if `json` is not a JSON object.
  static kube::Result<PlacementDecision> FromJson(const kube::Json& json);

  std::string ns;
  std::string name;
  std::string uid;
  std::string resource_version;
  bool deleting = false;
  std::string owner_uid;                   // of the owner that is the controller, or ""
  std::string placement;                   // kPlacementLabel, or ""
  std::optional<std::string> group_index;  // kDecisionGroupIndexLabel
  std::optional<std::string> group_name;   // kDecisionGroupNameLabel
  // False: created, but no status written yet; or the list cannot be read, for example because it
  // is too long. Then it is not known what was selected.
  bool has_status = false;
  std::vector<Decision> decisions;
  api::FieldErrors problems;
};

// The value of status.decisions; a score is written where it is set.
kube::Json DecisionsToJson(const std::vector<Decision>& decisions);

inline constexpr kube::Resource kPlacementDecisions{kGroup, "v1beta1", "placementdecisions",
                                                    "PlacementDecision"};

}  // namespace fleet
