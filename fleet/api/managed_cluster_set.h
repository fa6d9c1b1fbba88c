// SPDX-License-Identifier: Apache-2.0
// ManagedClusterSet and ManagedClusterSetBinding (OCM, v1beta2): which clusters a namespace may
// select. FromJson() accepts every object; what is wrong is listed in `problems`, and such a set
// has no clusters, such a binding binds nothing.
#pragma once

#include <optional>
#include <string>

#include "api/field_error.h"
#include "fleet/api/names.h"
#include "kube/base/error.h"
#include "kube/types/meta.pb.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace fleet {

struct ManagedClusterSet {
  // kInvalid only if `json` is not a JSON object.
  static kube::Result<ManagedClusterSet> FromJson(const kube::Json& json);

  enum class Selects {
    kNothing,     // LabelSelector without a selector, or with problems
    kByLabel,     // clusters with kClusterSetLabel = name
    kBySelector,  // clusters that `selector` matches
  };

  std::string name;
  std::string uid;
  int64_t generation = 0;
  bool deleting = false;
  bool shares_image_facts = false;  // kImageFactsLabel
  Selects selects = Selects::kByLabel;
  kube::meta::LabelSelector selector;
  api::FieldErrors problems;
};

struct ManagedClusterSetBinding {
  // kInvalid only if `json` is not a JSON object.
  static kube::Result<ManagedClusterSetBinding> FromJson(const kube::Json& json);

  std::string ns;
  std::string name;
  int64_t generation = 0;
  bool deleting = false;
  std::string cluster_set;  // equals `name`, or "" with problems
  api::FieldErrors problems;
};

inline constexpr kube::Resource kManagedClusterSets{kGroup, "v1beta2", "managedclustersets",
                                                    "ManagedClusterSet", false};
inline constexpr kube::Resource kManagedClusterSetBindings{
    kGroup, "v1beta2", "managedclustersetbindings", "ManagedClusterSetBinding"};

}  // namespace fleet
