// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/ability.h"

#include "api/names.h"

namespace cluster_controller {

using kube::Error;
using kube::Ok;
using kube::Result;
using kube::Right;
using namespace std::chrono_literals;

namespace {

// Without a watch for longer, there may be gated pods, or configs, that this replica does not know.
constexpr kube::Duration kMaxWithoutWatch = 30s;
// How long other replicas may acquire the Lease first: several of their attempts.
constexpr kube::Duration kOthersFirst = 10s;
// How long a replica whose watches failed is not ready, unless they work again: longer than all
// replicas take to fail one after the other, and the two minutes after which the operator acts.
constexpr kube::Duration kNotReady = 5min;

std::vector<Right> NeededRights(const std::string& ns) {
  const std::string group(api::kGroup);
  return {{.verb = "update", .resource = "pods"},
          {.verb = "watch", .resource = "pods"},
          {.verb = "watch", .group = group, .resource = "podplacementconfigs"},
          {.verb = "watch", .group = group, .resource = "clusterpodplacementconfigs"},
          {.verb = "watch", .resource = "configmaps", .ns = ns},
          {.verb = "get",
           .group = "coordination.k8s.io",
           .resource = "leases",
           .name = std::string(api::kAnnouncementsName)}};
}

}  // namespace

Ability::Ability(kube::Client& client, kube::Clock& clock, const std::string& ns)
    : clock_(clock), rights_(client, clock, NeededRights(ns)) {}

Result<void> Ability::Able() {
  if (watches_) {
    WatchState watches = watches_();
    if (watches.failing_for > kMaxWithoutWatch) {
      failed_at_ = clock_.Now();
      rights_.OnForbidden();  // the reason may be a missing permission
      return Error::Unavailable("there is no watch of pods or configs");
    }
    if (watches.synced && watches.failing_for == kube::Duration::zero()) failed_at_.reset();
  } else if (failed_at_ && clock_.Now() < *failed_at_ + kOthersFirst) {
    return Error::Unavailable("watches failed a moment ago");
  }
  return rights_.Check();
}

Result<void> Ability::Ready() const {
  Result<void> held = rights_.Check();
  if (!held) return held;
  if (failed_at_ && clock_.Now() < *failed_at_ + kNotReady)
    return Error::Unavailable("watches failed, and have not worked since");
  return Ok();
}

kube::Async<kube::Outcome> NoticeForbidden::Reconcile(kube::Request request) {
  Result<kube::Outcome> outcome = co_await reconciler_.Reconcile(std::move(request));
  if (FailedWith(outcome, kube::Code::kPermissionDenied)) ability_.OnForbidden();
  co_return outcome;
}

}  // namespace cluster_controller
