// SPDX-License-Identifier: Apache-2.0
// ManagedCluster (OCM, v1): a member of the fleet. It keeps what scheduling reads, about 1 KB.
//
// FromJson() accepts every object, because one refused object would stop the watch of all. A member
// writes its own status: what is wrong or too much in it is left out and listed in `problems`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/field_error.h"
#include "fleet/api/names.h"
#include "fleet/api/properties.h"
#include "kube/base/clock.h"
#include "kube/base/error.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace fleet {

inline constexpr size_t kMaxClusterLabels = 200;
inline constexpr size_t kMaxClusterClaims = 200;
inline constexpr size_t kMaxClusterTaints = 50;  // with more, it has kTooManyTaints alone

struct Taint {
  std::string key;
  std::string value;
  std::string effect;                        // kNoSelect, ...; others count as kNoSelect
  std::optional<kube::WallTime> time_added;  // nullopt: tolerated only without tolerationSeconds

  bool operator==(const Taint&) const = default;
};

struct ManagedCluster {
  // kInvalid only if `json` is not a JSON object.
  static kube::Result<ManagedCluster> FromJson(const kube::Json& json);

  // Cores and bytes; allocatable is nullopt too where the capacity is absent. Always finite.
  std::string name;
  bool deleting = false;
  Properties labels;
  Properties claims;
  std::vector<Taint> taints;
  std::optional<double> allocatable_cpu;
  std::optional<double> allocatable_memory;
  api::FieldErrors problems;

  // True if scheduling reads the same from both: an update that changed nothing wakes no Placement.
  bool operator==(const ManagedCluster&) const = default;
};

inline constexpr kube::Resource kManagedClusters{kGroup, "v1", "managedclusters", "ManagedCluster",
                                                 false};

}  // namespace fleet
