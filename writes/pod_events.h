// SPDX-License-Identifier: Apache-2.0
// PodEvents: which events of pods a controller records, as the ClusterPodPlacementConfig says
// (api/pod_events.h). The operator writes it into a file, which a shard can read without a right.
//
//   PodEvents pod_events;
//   EventRecorder events(client, clock, {.wanted = pod_events.Wanted()});
//   tasks.Spawn("pod-events", pod_events.Follow(clock));
//
// Thread: the client's.
#pragma once

#include <functional>
#include <string_view>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/controller/event_recorder.h"

namespace writes {

class PodEvents {
 public:
  // One of api::kPodEvents; all others stand for kAllPodEvents.
  void Set(std::string_view pod_events);
  // Follows --pod-events-file until cancelled; ends at once without it.
  kube::asio::awaitable<void> Follow(kube::Clock& clock);

  bool Wants(const kube::core::ObjectReference& about, bool warning, std::string_view reason) const;
  // For a recorder that this outlives.
  decltype(kube::EventRecorderOptions::wanted) Wanted() const;

 private:
  bool only_problems_ = false;
};

}  // namespace writes
