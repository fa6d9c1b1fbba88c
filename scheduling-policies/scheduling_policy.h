// SPDX-License-Identifier: Apache-2.0
// SchedulingPolicy: a PodSchedulingPolicy or a ClusterPodSchedulingPolicy of kupid's API, v1alpha1.
//
// FromJson() accepts every object, because one refused object would stop the watch of all. What is
// wrong with the spec is listed in `problems`: the CRD or the validating webhook refuses such a
// policy, and one that is stored anyway selects nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/conditions.h"
#include "api/field_error.h"
#include "api/fields.h"
#include "kube/base/error.h"
#include "kube/types/meta.pb.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"
#include "scheduling-policies/criteria.h"

namespace policy {

inline constexpr std::string_view kGroup = "kupid.gardener.cloud";

// Condition types of both kinds.
inline constexpr std::string_view kAccepted = "Accepted";
inline constexpr std::string_view kReady = "Ready";  // pods that are created from now on get it

struct PolicyStatus {
  int64_t observed_generation = 0;
  std::vector<api::Condition> conditions;

  bool operator==(const PolicyStatus&) const = default;
  static void Fields(auto& status, auto& field) {
    field("observedGeneration", status.observed_generation, api::Range{.low = 0});
    field("conditions", status.conditions, api::Items{});
  }
};

enum class Scope { kCluster, kNamespace };

struct SchedulingPolicy {
  // kInvalid only if `json` is not a JSON object.
  static kube::Result<SchedulingPolicy> FromJson(const kube::Json& json, Scope scope);

  bool of_cluster() const { return scope == Scope::kCluster; }
  // "ClusterPodSchedulingPolicy dedicated", "PodSchedulingPolicy shop/dedicated"
  std::string Describe() const;

  Scope scope = Scope::kNamespace;
  std::string ns;  // "" of a cluster policy
  std::string name;
  int64_t generation = 0;
  // An absent selector selects nothing, an empty one everything. The selected pods are in a
  // selected namespace, or in the policy's own.
  std::optional<kube::meta::LabelSelector> pod_selector;
  std::optional<kube::meta::LabelSelector> namespace_selector;  // of a cluster policy
  Criteria criteria;
  PolicyStatus status;
  api::FieldErrors problems;
};

// Merging goes by this order: cluster policies by name, then those of the namespace by name.
bool Precedes(const SchedulingPolicy& a, const SchedulingPolicy& b);

// The status alone, for patches.
kube::Json StatusToJson(const PolicyStatus& status);

inline constexpr kube::Resource kPodSchedulingPolicies{kGroup, "v1alpha1", "podschedulingpolicies",
                                                       "PodSchedulingPolicy"};
inline constexpr kube::Resource kClusterPodSchedulingPolicies{
    kGroup, "v1alpha1", "clusterpodschedulingpolicies", "ClusterPodSchedulingPolicy", false};

}  // namespace policy
