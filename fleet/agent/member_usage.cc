// SPDX-License-Identifier: Apache-2.0
#include "fleet/agent/member_usage.h"

#include <chrono>
#include <utility>

#include "fleet/scores/usage.h"
#include "kube/types/kinds.h"

namespace fleet {
namespace {

constexpr std::chrono::minutes kMaxFailing{1};

bool Current(const kube::Reflector& watch) {
  return watch.synced() && watch.failing_for() < kMaxFailing;
}

}  // namespace

MemberUsage::MemberUsage(kube::Client& client, kube::Clock& clock)
    : nodes_(client, clock, {.resource = kube::kNodes}, node_kind_),
      pods_(client, clock, {.resource = kube::kPods}, pod_kind_) {}

void MemberUsage::Start(kube::TaskGroup& tasks) {
  tasks.Spawn("nodes", nodes_.Run());
  tasks.Spawn("pods", pods_.Run());
}

bool MemberUsage::nodes_current() const { return Current(nodes_); }

bool MemberUsage::current() const { return Current(nodes_) && Current(pods_); }

kube::Result<kube::Reflector::Packed> MemberUsage::Nodes::Pack(kube::WireObject wire) {
  received_ = std::move(wire.json);
  return kube::Reflector::Packed();
}

void MemberUsage::Nodes::Emit(kube::EventType type, const kube::ObjectKey& key,
                              const kube::Reflector::Held& /*held*/) {
  if (type == kube::EventType::kDeleted) {
    usage_.index_.RemoveNode(key.name);
    usage_.totals_.RemoveNode(key.name);
  } else {
    usage_.index_.SetNode(key.name, NodeUsage::FromJson(received_));
    usage_.totals_.SetNode(key.name, received_);
  }
  received_ = nullptr;
}

kube::Result<kube::Reflector::Packed> MemberUsage::Pods::Pack(kube::WireObject wire) {
  received_ = PodUsage::FromJson(wire.json);
  return kube::Reflector::Packed();
}

// A pod is known by its key: one of the same name that comes after it replaces it.
void MemberUsage::Pods::Emit(kube::EventType type, const kube::ObjectKey& key,
                             const kube::Reflector::Held& /*held*/) {
  if (type == kube::EventType::kDeleted) {
    usage_.index_.RemovePod(key.ToString());
  } else {
    usage_.index_.SetPod(key.ToString(), received_);
  }
}

}  // namespace fleet
