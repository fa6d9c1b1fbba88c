// SPDX-License-Identifier: Apache-2.0
#include "operator/teardown/late_pods.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "api/names.h"
#include "kube/client/typed.h"
#include "placement/gate.h"

namespace operator_ {

using kube::Async;
using kube::Outcome;
using kube::Result;
using kube::core::Pod;

namespace {

// Between two steps of one round.
constexpr std::chrono::milliseconds kNextStep{10};

}  // namespace

Async<UngateRound> UngateLatePods(kube::Client& client, kube::Clock& clock, kube::TimePoint until) {
  const std::string log = "late pods:";
  UngateRound round;
  kube::TimePoint round_began = clock.Now();
  while (true) {
    std::string everywhere;
    ChooseGates both = BothGates;
    Result<bool> complete =
        co_await UngateStep(client, clock, std::move(everywhere), std::move(both), round, log);
    if (!complete) co_return complete.error();
    if (!*complete) continue;
    if (round_began >= until && !round.expired) co_return round;
    kube::TimePoint next = clock.Now() + kLatePoll;
    if (clock.Now() < until) next = std::min(next, until);
    Result<> slept = co_await clock.SleepUntil(next);
    if (!slept) co_return slept.error();
    round = UngateRound();
    round_began = clock.Now();
  }
}

void LatePods::Forget() {
  since_.reset();
  complete_ = false;
  round_ = UngateRound();
  next_round_ = kube::TimePoint();
}

Async<Outcome> LatePods::Look(std::string log) {
  if (complete_) co_return Outcome::Done();
  kube::TimePoint now = clock_.Now();
  if (!since_) since_ = now;
  if (round_.new_round()) {
    if (now < next_round_) {
      co_return Outcome::After(std::chrono::ceil<std::chrono::milliseconds>(next_round_ - now));
    }
    round_began_ = now;
  }
  Result<bool> wanted = co_await IsWanted();
  if (!wanted) co_return wanted.error();
  // Its event starts the next reconcile.
  if (*wanted) co_return Outcome::Done();

  bool drained = round_began_ >= *since_ + timing_.drain;
  ChooseGates choose = [drained](const Pod& pod) {
    std::optional<std::vector<std::string>> gates = BothGates(pod);
    if (gates && !drained && placement::HasGate(pod, api::kLocalGate)) gates->clear();
    return gates;
  };
  std::string everywhere;
  Result<bool> complete =
      co_await UngateStep(client_, clock_, std::move(everywhere), std::move(choose), round_, log);
  if (!complete) co_return complete.error();
  if (!*complete) co_return Outcome::After(kNextStep);

  UngateRound last = std::exchange(round_, UngateRound());
  next_round_ = clock_.Now() + timing_.poll;
  std::string failures = DescribeFailures(last);
  LOG_IF(WARNING, !failures.empty()) << log << " pods that were stored late: " << failures;
  complete_ = round_began_ >= *since_ + timing_.stored_late && !last.expired;
  co_return complete_ ? Outcome::Done() : Outcome::After(timing_.poll);
}

Async<bool> LatePods::IsWanted() {
  kube::ObjectKey key{"", std::string(api::kClusterConfigName)};
  Result<kube::Unstructured> config = co_await kube::GetObject(
      client_, kube::ResourceOf<api::ClusterPodPlacementConfig>::value, std::move(key));
  if (IsNotFound(config)) co_return false;
  if (!config) co_return config.error();
  co_return !config->metadata().has_deletion_timestamp();
}

}  // namespace operator_
