// SPDX-License-Identifier: Apache-2.0
#include "shard/lease.h"

#include <chrono>

#include "api/names.h"

namespace shard {
namespace {

// A cluster may have a thousand shards: at rest, their Leases cost the API server 25 writes per
// second. The controllers that look at a Lease do so only when a pod waits, and then the shard
// renews it every two seconds. A replica that waits for this Lease takes pods without it after 20
// s.
constexpr std::chrono::seconds kLeaseDuration{60};
constexpr std::chrono::seconds kRenewDeadline{50};
constexpr std::chrono::seconds kRenewEvery{40};

}  // namespace

kube::LeaseOptions LeaseOf(const std::string& ns) {
  return {.ns = ns,
          .name = std::string(api::kShardControllerName),
          .duration = kLeaseDuration,
          .renew_deadline = kRenewDeadline,
          .renew_every = kRenewEvery};
}

}  // namespace shard
