// SPDX-License-Identifier: Apache-2.0
// SignsOfLife: when this hub last saw that the agent of a cluster lives, by this hub's own clock.
// What a member writes is only compared with what it wrote before: a renewTime in the future, or of
// a wrong clock, gives it nothing.
//
// The first question about a cluster counts as a sign, so a new leader waits a whole grace period;
// so does one whose watch of the Leases was broken (Blind). No I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "kube/base/clock.h"

namespace fleet {

class SignsOfLife {
 public:
  // Seconds and nanoseconds of a renewTime.
  using Renewal = std::pair<int64_t, int32_t>;

  // `clock` outlives this.
  explicit SignsOfLife(kube::Clock& clock) : clock_(clock) {}

  // A watch delivered the cluster's Lease. Returns: true if the cluster had none before.
  bool Renewed(const std::string& cluster, const Renewal& renewal);
  // The agent has written to its ManagedCluster.
  void Reported(const std::string& cluster) { signs_[cluster].last = clock_.Now(); }
  // Leases cannot be seen at the moment: no agent counts as silent until a grace period after now.
  void Blind() { blind_until_ = clock_.Now(); }
  void Forget(const std::string& cluster) { signs_.erase(cluster); }

  // Whether a Lease of the cluster was seen.
  bool HasLease(const std::string& cluster) const;
  // How long ago the last sign was; not negative.
  kube::Duration Silence(const std::string& cluster);
  size_t size() const { return signs_.size(); }

 private:
  struct Sign {
    kube::TimePoint last;
    std::optional<Renewal> renewal;
  };

  kube::Clock& clock_;
  std::optional<kube::TimePoint> blind_until_;
  std::unordered_map<std::string, Sign> signs_;
};

}  // namespace fleet
