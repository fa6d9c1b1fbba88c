// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/webhook/policy_replica.h"

#include <utility>

namespace policy {

PolicyReplica::PolicyReplica(kube::Client& client, kube::Clock& clock, std::string ns,
                             std::string name)
    : watch_(client, clock),
      registration_(client, clock,
                    {.ns = std::move(ns),
                     .name = std::move(name),
                     .seen = [this] { return watch_.Seen(); },
                     .registered = [this] { watch_.List(); }}) {
  watch_.OnSeen([this] { registration_.Acknowledge(); });
}

void PolicyReplica::Start(kube::TaskGroup& tasks) {
  tasks.Spawn("policies", watch_.Run());
  tasks.Spawn("registration", registration_.Run());
}

kube::Result<void> PolicyReplica::InForce() const {
  if (!registration_.in_force())
    return kube::Error::Unavailable("the Lease of this replica is not renewed");
  if (!watch_.synced()) return kube::Error::Unavailable("the policies are being listed");
  return kube::Ok();
}

}  // namespace policy
