// SPDX-License-Identifier: Apache-2.0
// Criteria: what a policy adds to the specs of pods. Read from the untrusted spec of a policy, and
// checked by the rules that the API server has for pods: a criterion that it refuses would refuse
// every pod that the policy selects.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/field_error.h"
#include "api/json_reader.h"
#include "kube/types/meta.pb.h"
#include "kube/types/unstructured.h"

namespace policy {

// Limits of the CRDs, far above what a user writes.
inline constexpr size_t kMaxEntries = 100;      // of a map or a list
inline constexpr size_t kMaxNodeValues = 1000;  // of one requirement on nodes
inline constexpr size_t kMaxLabelKeys = 5;      // matchLabelKeys; bounds the cost of a CEL rule

// A part of a pod spec: as the policy has it, without unknown fields, and its CanonicalText().
struct Part {
  kube::Json json;
  std::string canonical;
};

// A required node selector term: all its requirements hold, and there is at least one.
struct RequiredTerm {
  std::vector<Part> expressions;
  std::vector<Part> fields;
};

struct Toleration {
  kube::Json json;
  // The canonical text of the toleration without its seconds.
  std::string canonical;
  std::optional<int64_t> seconds;
};

// What tolerations are compared by: an absent operator is Equal, "" is absent.
Toleration TolerationFrom(const kube::Json& json);

// The lists below spec.affinity to which the policy's terms are appended.
struct AffinityList {
  const char* affinity;
  const char* list;
  bool weighted = false;
  bool of_pods = true;
};
inline constexpr char kRequired[] = "requiredDuringSchedulingIgnoredDuringExecution";
inline constexpr char kPreferred[] = "preferredDuringSchedulingIgnoredDuringExecution";
inline constexpr std::array<AffinityList, 5> kAffinityLists = {{
    {"nodeAffinity", kPreferred, true, false},
    {"podAffinity", kRequired},
    {"podAffinity", kPreferred, true},
    {"podAntiAffinity", kRequired},
    {"podAntiAffinity", kPreferred, true},
}};

// A label selector, checked; nullopt where absent.
std::optional<kube::meta::LabelSelector> ReadSelector(api::JsonReader& reader,
                                                      std::string_view name);

struct Criteria {
  std::map<std::string, std::string> node_selector;
  std::string node_name;
  std::string scheduler_name;
  // ORed. Terms without requirements, which match no node, are left out.
  std::vector<RequiredTerm> required_terms;
  // In the order of kAffinityLists.
  std::array<std::vector<Part>, kAffinityLists.size()> affinity_terms;
  std::vector<Toleration> tolerations;

  bool empty() const;
};

// Reads the criteria of a policy's spec. Refused parts are left out and listed in `problems`.
Criteria CriteriaFromJson(const kube::Json& spec, const std::string& path,
                          api::FieldErrors& problems);

}  // namespace policy
