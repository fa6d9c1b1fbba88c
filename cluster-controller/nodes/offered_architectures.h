// SPDX-License-Identifier: Apache-2.0
// OfferedArchitectures: an event on each released pod whose architectures no node has and no
// NodePool of Karpenter offers. Such a pod stays Pending, and the scheduler does not say why.
//
//   offered.Check(pod);   // after the write that released it; returns at once
//
// Most pods fit what the last list has found, and cost no request. Another pod waits, here and not
// gated, for a list that starts after its release, of NodePools and of the labels of nodes; so do
// all such pods of the next minute. No event if not all of it can be read.
//
// NodeImages lists nodes too, but for other pods and whole ones, which are ten times as large.
// Thread: one.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/error.h"
#include "kube/base/task_group.h"
#include "kube/client/client.h"
#include "kube/controller/event_recorder.h"
#include "kube/types/core.pb.h"
#include "kube/types/resource.h"
#include "placement/node_offers.h"

namespace cluster_controller {

inline constexpr kube::Resource kNodePools{"karpenter.sh", "v1", "nodepools", "NodePool", false};

// Between two lists, and as much more for each node that was read: for 5,000 nodes about two
// minutes.
inline constexpr std::chrono::seconds kListOffersEvery{60};
inline constexpr std::chrono::milliseconds kOffersForEachNode{10};
// A list starts this long after the first pod that waits for it, so that a burst shares it.
inline constexpr std::chrono::seconds kListOffersAfter{5};
// How long pods that fit need no newer list.
inline constexpr std::chrono::minutes kOffersLifetime{10};
// For all pages of both.
inline constexpr std::chrono::seconds kListOffersTimeout{120};
// With more, everything counts as offered.
inline constexpr size_t kMaxNodePools = 1'000;

// Pods that wait for one list. Further ones get no event.
struct WaitingLimits {
  size_t per_namespace = 1'000;
  size_t total = 2'000;
};

class OfferedArchitectures {
 public:
  // All outlive it except `tasks`, which must have stopped before it is destroyed.
  OfferedArchitectures(kube::Client& client, kube::Clock& clock, kube::TaskGroup& tasks,
                       kube::EventRecorder& events, WaitingLimits limits = {})
      : client_(client), clock_(clock), tasks_(tasks), events_(events), limits_(limits) {}

  // `pod`: as it was written, without the gate.
  void Check(const kube::core::Pod& pod);

 private:
  struct Waiting {
    kube::core::ObjectReference about;
    placement::RequiredPlatforms required;
  };

  bool IsKnownToFit(const placement::RequiredPlatforms& required) const;
  // Lists while pods wait.
  kube::asio::awaitable<void> Run();
  void Decide(const std::vector<Waiting>& pods);

  kube::Async<placement::NodeOffers> List();
  kube::Async<> ListNodePools(kube::TimePoint deadline, placement::NodeOffers& offers);
  kube::Async<> ListNodes(kube::TimePoint deadline, placement::NodeOffers& offers);
  // Reads all pages, and passes each item to `add` until it returns false.
  kube::Async<> ReadItems(kube::Client& client, kube::Resource resource, bool protobuf,
                          kube::TimePoint deadline,
                          std::function<bool(const std::string& item)> add);

  kube::Client& client_;
  kube::Clock& clock_;
  kube::TaskGroup& tasks_;
  kube::EventRecorder& events_;
  WaitingLimits limits_;

  // Of the last list that succeeded, and when it started.
  std::optional<placement::NodeOffers> offers_;
  kube::TimePoint offers_since_{};
  kube::TimePoint next_list_{};
  bool running_ = false;
  size_t nodes_ = 0;  // of the last list
  std::vector<Waiting> waiting_;
  std::unordered_map<std::string, size_t> waiting_of_;  // by namespace
};

}  // namespace cluster_controller
