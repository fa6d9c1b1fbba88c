// SPDX-License-Identifier: Apache-2.0
// UsageIndex: what the nodes of a cluster have, what its pods request, and which workloads run on
// which architectures, kept up to date one object at a time. Reading the sums costs nothing per
// pod or node.
//
//   UsageIndex index;
//   index.SetNode("n1", *NodeUsage::FromJson(node));
//   index.SetPod(uid, PodUsage::FromJson(pod));
//   Scores scores = ScoresOf(index.sums(), {});
//
// Sums are integers, so that any order of events gives the same result. Beyond kMaxNodes and
// kMaxPods, objects are ignored and counted: the cluster is untrusted.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "fleet/scores/usage.h"

namespace fleet {

// Sums over the nodes of an architecture that are Ready and schedulable.
struct ArchitectureSums {
  Resources allocatable;
  // What the pods on each node leave free; 0 for a node whose pods request more than it has.
  Resources free;
  int64_t nodes = 0;  // of any state
  int64_t runnable_workloads = 0;

  bool operator==(const ArchitectureSums&) const = default;
};

struct UsageSums {
  std::array<ArchitectureSums, kScoredArchitectures.size()> architectures;
  int64_t allocatable_cpu = 0;  // of all architectures, also those without scores
  int64_t workloads = 0;

  bool operator==(const UsageSums&) const = default;
};

class UsageIndex {
 public:
  static constexpr size_t kMaxNodes = 20'000;
  static constexpr size_t kMaxPods = 500'000;

  // Adds or replaces. `uid` is the pod's.
  void SetNode(const std::string& name, const NodeUsage& node);
  void SetPod(std::string_view uid, const PodUsage& pod);
  void RemoveNode(const std::string& name);
  void RemovePod(std::string_view uid);

  const UsageSums& sums() const { return sums_; }
  size_t pods() const { return pods_.size(); }
  // Calls of SetNode() and SetPod() that had no effect because of the limits.
  uint64_t ignored() const { return ignored_; }

 private:
  struct Node {
    NodeUsage usage;  // without `known` nothing of it counts
    Resources requested;
    uint32_t pods = 0;
    bool known = false;  // a pod may come before its node
  };
  using Nodes = std::unordered_map<std::string, Node>;

  struct Workload {
    uint32_t pods = 0;
    std::array<uint32_t, kScoredArchitectures.size()> labelled{};  // pods with the label
  };
  using Workloads = std::unordered_map<std::string, Workload>;

  // A UID has 128 bits. Other texts are hashed, with a collision in 2^64 pairs.
  struct PodKey {
    uint64_t high = 0;
    uint64_t low = 0;
    bool operator==(const PodKey&) const = default;
  };
  struct HashPodKey {
    size_t operator()(const PodKey& key) const { return key.high ^ (key.low * 31); }
  };
  static PodKey KeyOf(std::string_view uid);

  struct Pod {
    Resources requests;
    Nodes::value_type* node = nullptr;  // elements of the maps stay where they are
    Workloads::value_type* workload = nullptr;
    ArchitectureMask architectures = 0;
  };
  using Pods = std::unordered_map<PodKey, Pod, HashPodKey>;

  // Adds the node's share to the sums, or with -1 takes it out.
  void Count(const Node& node, int sign);
  void Count(const Workload& workload, int sign);
  void Attach(Pod& pod, const PodUsage& usage);
  void Detach(Pod& pod);
  void Forget(Nodes::value_type& node);

  Nodes nodes_;
  Workloads workloads_;
  Pods pods_;
  UsageSums sums_;
  size_t known_nodes_ = 0;
  uint64_t ignored_ = 0;
};

}  // namespace fleet
