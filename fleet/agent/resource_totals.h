// SPDX-License-Identifier: Apache-2.0
// ResourceTotals: capacity and allocatable of all nodes, kept up to date one node at a time, as a
// ManagedCluster has them. As in OCM, a cordoned node adds to capacity only. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "kube/types/unstructured.h"

namespace fleet {

// By resource name, as quantities: {"cpu": "3500m", "memory": "16777216Ki"}.
using Quantities = std::map<std::string, std::string>;

class ResourceTotals {
 public:
  // Nodes and resources beyond these numbers are ignored: what a node has is untrusted.
  static constexpr size_t kMaxNodes = 20'000;
  static constexpr size_t kMaxResources = 64;

  // Adds or replaces.
  void SetNode(const std::string& name, const kube::Json& node);
  void RemoveNode(const std::string& name);

  Quantities Capacity() const { return Format(capacity_); }
  Quantities Allocatable() const { return Format(allocatable_); }

 private:
  // By the name's index; cpu in thousandths of a core, all others in whole units.
  using Amounts = std::map<uint16_t, int64_t>;
  struct Node {
    Amounts capacity;
    Amounts allocatable;
  };

  Amounts Read(const kube::Json& node, std::string_view path);
  static void Add(Amounts& sums, const Amounts& amounts, int sign);
  Quantities Format(const Amounts& sums) const;

  std::map<std::string, uint16_t, std::less<>> names_;  // never shrinks
  std::unordered_map<std::string, Node> nodes_;
  Amounts capacity_;
  Amounts allocatable_;
};

}  // namespace fleet
