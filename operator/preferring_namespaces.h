// SPDX-License-Identifier: Apache-2.0
// PreferringNamespaces: where PodPlacementConfigs may change pods: by preferences, so that pods
// which require an architecture themselves are gated too, or by tolerations, so that no pod may be
// placed at its creation (api/known_images.h).
//
// Each change is a write of what gates the pods of all namespaces, and owners of namespaces cause
// it, by their PodPlacementConfigs or by the Lease of announcements. So a namespace is added at
// once, and removed when it has had no reason for kKept, together with others: in two minutes, its
// owner causes two writes, whatever the owner does. Until then more pods are gated than need it,
// and none fewer. Thread: one.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kube/base/clock.h"

namespace operator_ {

class PreferringNamespaces {
 public:
  enum class Reason { kStored, kAnnounced };

  static constexpr std::chrono::seconds kKept{120};
  // Between two removals.
  static constexpr std::chrono::seconds kRemovedEvery{30};
  // Without a reason; of more, those that would be removed first are removed early.
  static constexpr size_t kMaxKept = 1000;

  // `clock` outlives this.
  explicit PreferringNamespaces(kube::Clock& clock) : clock_(clock) {}

  // Whether `ns` has this reason. Returns: whether List() has become longer.
  bool Set(Reason reason, const std::string& ns, bool holds);
  // Sorted.
  std::vector<std::string> List() const;
  // When List() will be shorter if no reason comes; nullopt: it will not.
  std::optional<kube::TimePoint> NextRemoval() const;

 private:
  struct Namespace {
    std::set<Reason> reasons;
    // Without a reason: when it is removed.
    std::optional<kube::TimePoint> until;
  };

  void RemoveFirst();

  kube::Clock& clock_;
  std::map<std::string, Namespace> namespaces_;
  // Those without a reason, in the order of removal.
  std::set<std::pair<kube::TimePoint, std::string>> kept_;
};

}  // namespace operator_
