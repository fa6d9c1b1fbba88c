// SPDX-License-Identifier: Apache-2.0
// Selectors: many selectors that are compared with one cluster after the other, as the predicates
// of a Placement. A user may write hundreds of requirements, and a fleet has thousands of clusters:
// each value of a cluster is looked up once, for all requirements.
//
//   Selectors selectors;
//   size_t zone = selectors.Add(selector, Selectors::kLabels);
//   selectors.Read(cluster);
//   if (selectors.Matches(zone)) ...                              // `cluster`
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fleet/api/managed_cluster.h"
#include "fleet/scheduling/selector.h"
#include "kube/types/meta.pb.h"

namespace fleet {

class Selectors {
 public:
  enum Source { kLabels, kClaims };

  // The index of the new selector. An empty one matches everything.
  size_t Add(const kube::meta::LabelSelector& selector, Source source);
  // Makes `cluster` the one that Matches() is about.
  void Read(const ManagedCluster& cluster);
  bool Matches(size_t selector) const;

 private:
  static constexpr int32_t kAbsent = -1;
  static constexpr int32_t kUnlisted = -2;  // a value that no requirement lists

  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  template <class T>
  using ByText = std::unordered_map<std::string, T, Hash, std::equal_to<>>;
  // A label or claim that a requirement asks for.
  struct Key {
    size_t column = 0;       // in current_
    ByText<int32_t> values;  // the listed ones, numbered
  };
  struct Requirement {
    size_t column = 0;
    SelectorOperator op = SelectorOperator::kUnknown;
    std::vector<int32_t> values;  // sorted
  };

  void Require(Source source, const std::string& key, SelectorOperator op,
               const std::vector<std::string_view>& values);
  void ReadFrom(const Properties& properties, const ByText<Key>& keys);
  void Set(const Key& key, std::string_view value);

  std::array<ByText<Key>, 2> keys_;  // by Source
  std::vector<int32_t> current_;     // the cluster's values: a number of Key::values, or kAbsent...
  std::vector<Requirement> requirements_;  // of all selectors, in sequence
  std::vector<size_t> ends_;               // of each selector
};

}  // namespace fleet
