// SPDX-License-Identifier: Apache-2.0
// OperatorStandIn: reports the configs of a member as Available, a moment after they were created,
// as the operator does when its operands run. The members of the demo run no pods, and therefore no
// operator.
#pragma once

#include <chrono>
#include <set>
#include <string>
#include <utility>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/client/client.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace e2e {

class OperatorStandIn {
 public:
  // How long it takes, so that a rollout can be seen.
  static constexpr std::chrono::seconds kTakes{2};

  // `client` is of the member, and outlives it. Thread: the client's.
  OperatorStandIn(kube::Client& client, kube::Executor executor)
      : client_(client), tasks_(std::move(executor)) {}

  // To be called for each state of an object of the member; kinds other than the two configs are
  // ignored.
  void OnObject(const kube::Resource& resource, const kube::Json& object);

  kube::Async<> Stop() { return tasks_.Stop(kube::RealClock(), std::chrono::seconds(5)); }

 private:
  boost::asio::awaitable<void> Report(kube::Resource resource, kube::ObjectKey key);

  kube::Client& client_;
  std::set<std::string> seen_;  // uids
  kube::TaskGroup tasks_;
};

}  // namespace e2e
