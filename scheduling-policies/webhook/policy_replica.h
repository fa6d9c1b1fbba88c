// SPDX-License-Identifier: Apache-2.0
// PolicyReplica: a watch of policies whose state the operator reads from a Lease. While it is in
// force, it has every policy that the operator has called Ready.
#pragma once

#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/error.h"
#include "kube/base/task_group.h"
#include "kube/client/client.h"
#include "scheduling-policies/webhook/policy_watch.h"
#include "scheduling-policies/webhook/registration.h"

namespace policy {

class PolicyReplica {
 public:
  // `ns`: the operator's namespace; `name`: of this pod. Both references outlive the replica.
  PolicyReplica(kube::Client& client, kube::Clock& clock, std::string ns, std::string name);

  // Spawns the tasks of both parts; they end when `tasks` stops.
  void Start(kube::TaskGroup& tasks);
  // kUnavailable, with the reason, while reviews must not be answered.
  kube::Result<void> InForce() const;
  const PolicyWatch& watch() const { return watch_; }
  // After the tasks have ended and no review is answered any more.
  kube::Async<> End() { return registration_.End(); }

 private:
  PolicyWatch watch_;
  Registration registration_;
};

}  // namespace policy
