// SPDX-License-Identifier: Apache-2.0
#include "fleet/scores/usage_index.h"

#include <algorithm>
#include <functional>
#include <optional>

namespace fleet {
namespace {

// The 128 bits of "550e8400-e29b-41d4-a716-446655440000"; nullopt of other texts.
std::optional<std::array<uint64_t, 2>> ParseUuid(std::string_view text) {
  constexpr size_t kLength = 36;
  constexpr size_t kDigits = 32;
  if (text.size() != kLength) return {};
  std::array<uint64_t, 2> bits{};
  size_t digits = 0;
  for (size_t i = 0; i < kLength; ++i) {
    bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash != (text[i] == '-')) return {};
    if (dash) continue;
    char c = text[i];
    uint64_t value = 0;
    if (c >= '0' && c <= '9') {
      value = c - '0';
    } else if (c >= 'a' && c <= 'f') {
      value = c - 'a' + 10;
    } else {
      return {};
    }
    uint64_t& half = bits[digits / (kDigits / 2)];
    half = half << 4 | value;
    ++digits;
  }
  return bits;
}

void Add(Resources& sum, const Resources& part, int sign) {
  sum.milli_cpu += sign * part.milli_cpu;
  sum.kib += sign * part.kib;
}

}  // namespace

UsageIndex::PodKey UsageIndex::KeyOf(std::string_view uid) {
  if (auto bits = ParseUuid(uid)) return {(*bits)[0], (*bits)[1]};
  return {std::hash<std::string_view>()(uid), uid.size()};
}

void UsageIndex::Count(const Node& node, int sign) {
  if (!node.known) return;
  const NodeUsage& usage = node.usage;
  if (usage.usable) sums_.allocatable_cpu += sign * usage.allocatable.milli_cpu;
  if (usage.architecture < 0) return;
  ArchitectureSums& sums = sums_.architectures[usage.architecture];
  sums.nodes += sign;
  if (!usage.usable) return;
  Add(sums.allocatable, usage.allocatable, sign);
  Add(sums.free,
      {std::max<int64_t>(0, usage.allocatable.milli_cpu - node.requested.milli_cpu),
       std::max<int64_t>(0, usage.allocatable.kib - node.requested.kib)},
      sign);
}

void UsageIndex::Count(const Workload& workload, int sign) {
  if (workload.pods == 0) return;
  sums_.workloads += sign;
  for (size_t i = 0; i < workload.labelled.size(); ++i) {
    if (workload.labelled[i] == workload.pods) sums_.architectures[i].runnable_workloads += sign;
  }
}

void UsageIndex::SetNode(const std::string& name, const NodeUsage& usage) {
  auto found = nodes_.find(name);
  bool known = found != nodes_.end() && found->second.known;
  if (!known && known_nodes_ >= kMaxNodes) {
    ++ignored_;
    return;
  }
  Node& node = found != nodes_.end() ? found->second : nodes_[name];
  Count(node, -1);
  node.usage = usage;
  node.known = true;
  known_nodes_ += !known;
  Count(node, 1);
}

void UsageIndex::Forget(Nodes::value_type& entry) {
  Node& node = entry.second;
  Count(node, -1);
  known_nodes_ -= node.known;
  node.known = false;
}

void UsageIndex::RemoveNode(const std::string& name) {
  auto found = nodes_.find(name);
  if (found == nodes_.end()) return;
  Forget(*found);
  if (found->second.pods == 0) nodes_.erase(found);
}

void UsageIndex::Attach(Pod& pod, const PodUsage& usage) {
  pod.requests = usage.requests;
  pod.architectures = usage.architectures;
  if (!usage.node.empty()) {
    pod.node = &*nodes_.try_emplace(usage.node).first;
    Node& node = pod.node->second;
    Count(node, -1);
    node.pods += 1;
    Add(node.requested, pod.requests, 1);
    Count(node, 1);
  }
  if (!usage.workload.empty()) {
    pod.workload = &*workloads_.try_emplace(usage.workload).first;
    Workload& workload = pod.workload->second;
    Count(workload, -1);
    workload.pods += 1;
    for (size_t i = 0; i < workload.labelled.size(); ++i)
      workload.labelled[i] += pod.architectures >> i & 1;
    Count(workload, 1);
  }
}

void UsageIndex::Detach(Pod& pod) {
  if (pod.node != nullptr) {
    Node& node = pod.node->second;
    Count(node, -1);
    node.pods -= 1;
    Add(node.requested, pod.requests, -1);
    Count(node, 1);
    if (!node.known && node.pods == 0) nodes_.erase(nodes_.find(pod.node->first));
  }
  if (pod.workload != nullptr) {
    Workload& workload = pod.workload->second;
    Count(workload, -1);
    workload.pods -= 1;
    for (size_t i = 0; i < workload.labelled.size(); ++i)
      workload.labelled[i] -= pod.architectures >> i & 1;
    Count(workload, 1);
    if (workload.pods == 0) workloads_.erase(workloads_.find(pod.workload->first));
  }
  pod = {};
}

void UsageIndex::SetPod(std::string_view uid, const PodUsage& usage) {
  if (usage.node.empty() && usage.workload.empty()) return RemovePod(uid);  // nothing counts
  PodKey key = KeyOf(uid);
  auto found = pods_.find(key);
  if (found == pods_.end() && pods_.size() >= kMaxPods) {
    ++ignored_;
    return;
  }
  Pod& pod = found != pods_.end() ? found->second : pods_[key];
  Detach(pod);
  Attach(pod, usage);
}

void UsageIndex::RemovePod(std::string_view uid) {
  auto found = pods_.find(KeyOf(uid));
  if (found == pods_.end()) return;
  Detach(found->second);
  pods_.erase(found);
}

}  // namespace fleet
