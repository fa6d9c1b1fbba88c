// SPDX-License-Identifier: Apache-2.0
// What bounds the cost of ENoExecEvents, whoever creates them. Thread: the client's.
#pragma once

#include <chrono>
#include <deque>
#include <string>

#include "kube/base/clock.h"
#include "kube/base/lru_map.h"

namespace exec_format {

// Passes over objects: of a burst, and the time to regain one. Each costs the API server some
// calls.
inline constexpr int kBurst = 10;
inline constexpr std::chrono::seconds kPeriod{1};
// Events of a pod within kPodWindow.
inline constexpr size_t kEventsOfPod = 5;
inline constexpr std::chrono::hours kPodWindow{1};
inline constexpr size_t kMaxPods = 1'024;
// Objects that are known at a time; further ones are handled once there is room.
inline constexpr size_t kMaxObjects = 500;

// How many events pods have had, of the last kMaxPods.
class PodEventLimit {
 public:
  // `clock` outlives this.
  explicit PodEventLimit(kube::Clock& clock) : clock_(clock) {}

  // Whether the pod with this UID may have one more.
  bool HasRoom(const std::string& uid) {
    Times* times = pods_.Find(uid);
    if (times == nullptr) return true;
    while (!times->empty() && times->front() + kPodWindow <= clock_.Now()) times->pop_front();
    return times->size() < kEventsOfPod;
  }
  // It has one more.
  void Count(const std::string& uid) {
    Times* times = pods_.Find(uid);
    Times counted = times == nullptr ? Times() : std::move(*times);
    counted.push_back(clock_.Now());
    pods_.Put(uid, std::move(counted));
  }

 private:
  using Times = std::deque<kube::TimePoint>;

  kube::Clock& clock_;
  kube::LruMap<Times> pods_{kMaxPods};
};

}  // namespace exec_format
