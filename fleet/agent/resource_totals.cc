// SPDX-License-Identifier: Apache-2.0
#include "fleet/agent/resource_totals.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kube/types/quantity.h"

namespace fleet {
namespace {

constexpr std::string_view kCpu = "cpu";
constexpr std::string_view kMemory = "memory";
constexpr size_t kMaxResourceName = 253;
constexpr int64_t kMilli = 1000;
constexpr int64_t kKib = 1024;
// The sums of kMaxNodes nodes fit.
constexpr double kMaxAmount = 1e14;

}  // namespace

ResourceTotals::Amounts ResourceTotals::Read(const kube::Json& node, std::string_view path) {
  Amounts amounts;
  const kube::Json* resources = kube::Find(node, path);
  if (resources == nullptr || !resources->is_object()) return amounts;
  for (const auto& [name, value] : resources->items()) {
    if (!value.is_string() || name.empty() || name.size() > kMaxResourceName) continue;
    auto quantity = kube::ParseQuantity(value.get_ref<const std::string&>());
    if (!quantity) continue;
    auto known = names_.find(name);
    if (known == names_.end()) {
      if (names_.size() >= kMaxResources) continue;
      known = names_.emplace(name, static_cast<uint16_t>(names_.size())).first;
    }
    double units = *quantity * (name == kCpu ? kMilli : 1);
    amounts[known->second] = static_cast<int64_t>(std::clamp(std::floor(units), 0.0, kMaxAmount));
  }
  return amounts;
}

void ResourceTotals::Add(Amounts& sums, const Amounts& amounts, int sign) {
  for (const auto& [name, amount] : amounts) sums[name] += sign * amount;
}

void ResourceTotals::SetNode(const std::string& name, const kube::Json& json) {
  if (!nodes_.contains(name) && nodes_.size() >= kMaxNodes) return;
  RemoveNode(name);
  Node node;
  node.capacity = Read(json, "status.capacity");
  if (!kube::BoolAt(json, "spec.unschedulable"))
    node.allocatable = Read(json, "status.allocatable");
  Add(capacity_, node.capacity, 1);
  Add(allocatable_, node.allocatable, 1);
  nodes_[name] = std::move(node);
}

void ResourceTotals::RemoveNode(const std::string& name) {
  auto removed = nodes_.extract(name);
  if (removed.empty()) return;
  Add(capacity_, removed.mapped().capacity, -1);
  Add(allocatable_, removed.mapped().allocatable, -1);
}

Quantities ResourceTotals::Format(const Amounts& sums) const {
  Quantities quantities;
  for (const auto& [name, index] : names_) {
    auto sum = sums.find(index);
    if (sum == sums.end()) continue;
    int64_t amount = sum->second;
    std::string& text = quantities[name];
    if (name == kCpu) {
      bool whole = amount % kMilli == 0;
      text = whole ? std::to_string(amount / kMilli) : std::to_string(amount) + "m";
    } else if (name == kMemory && amount % kKib == 0 && amount > 0) {
      text = std::to_string(amount / kKib) + "Ki";
    } else {
      text = std::to_string(amount);
    }
  }
  return quantities;
}

}  // namespace fleet
