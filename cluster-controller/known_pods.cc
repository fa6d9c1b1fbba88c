// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/known_pods.h"

#include <algorithm>
#include <string>

namespace cluster_controller {

std::pair<KnownPod&, bool> KnownPods::Add(const kube::core::Pod& pod) {
  size_t uid_hash = std::hash<std::string>()(pod.metadata().uid());
  auto [entry, is_new] = pods_.try_emplace(kube::KeyOf(pod));
  KnownPod& known = entry->second;
  if (!is_new && known.uid_hash == uid_hash) return {known, false};
  if (!is_new) awaiting_.Leave(kube::KeyOf(pod));
  kube::TimePoint now = clock_.Now();
  known = {.uid_hash = uid_hash,
           .first_seen = now,
           .counted_since = now,
           .next_attempt = {},
           .processing_since = {}};
  return {known, true};
}

KnownPod* KnownPods::Find(const kube::ObjectKey& key) {
  auto found = pods_.find(key);
  return found == pods_.end() ? nullptr : &found->second;
}

void KnownPods::Forget(const kube::ObjectKey& key) {
  pods_.erase(key);
  awaiting_.Leave(key);
}

bool KnownPods::AwaitOtherGates(const kube::ObjectKey& key) {
  KnownPod* known = Find(key);
  if (known == nullptr) return false;
  known->awaits_other_gates = awaiting_.Enter(key);
  // It does not queue for a place.
  if (!known->awaits_other_gates) awaiting_.Leave(key);
  return known->awaits_other_gates;
}

void KnownPods::EndAwaiting(const kube::ObjectKey& key) {
  KnownPod* known = Find(key);
  if (known == nullptr || !known->awaits_other_gates) return;
  known->awaits_other_gates = false;
  known->counted_since = clock_.Now();
  awaiting_.Leave(key);
}

void KnownPods::BeginTerm() {
  for (auto& [key, known] : pods_) {
    known.processing_since = {};
    known.additions_refused = false;
    known.prefetching = false;
    known.released = false;
  }
}

void KnownPods::KeepOnly(const kube::PodReader& pods) {
  std::erase_if(pods_, [&](const auto& entry) {
    if (pods.Get(entry.first).has_value()) return false;
    awaiting_.Leave(entry.first);
    return true;
  });
}

kube::Duration KnownPods::OldestAge() const {
  kube::TimePoint now = clock_.Now();
  kube::TimePoint oldest = now;
  for (const auto& [key, known] : pods_) {
    if (!known.released && !known.awaits_other_gates)
      oldest = std::min(oldest, known.counted_since);
  }
  return now - oldest;
}

}  // namespace cluster_controller
