// SPDX-License-Identifier: Apache-2.0
#include "operator/terms.h"

#include <glog/logging.h>

namespace operator_ {

using kube::Async;
using kube::Result;
using namespace std::chrono_literals;

namespace {

// How long a call that is under way may take when the Lease is lost: a call's own timeout.
constexpr auto kEndOfTerm = 35s;

}  // namespace

Terms::Terms(kube::App& app, kube::Client& client, kube::LeaseOptions lease, LeaderOptions options,
             const OwnCertificate& certificate)
    : app_(app),
      client_(client),
      options_(std::move(options)),
      certificate_(certificate),
      elector_(client, app.clock(), std::move(lease)) {}

boost::asio::awaitable<void> Terms::Run() {
  co_await kube::IgnoreCancellation();
  while (true) {
    Result<bool> again = co_await LeadOnce();
    if (again && *again) continue;
    if (again) co_return;
    failure_ = again.error();
    if (on_failure_) on_failure_();
    co_return;
  }
}

Async<bool> Terms::LeadOnce() {
  Result<> acquired = co_await elector_.Acquire();
  if (!acquired) co_return false;
  LOG(INFO) << "leads";
  Leader leader(client_, app_.clock(), options_, certificate_);
  kube::TaskGroup workers(app_.executor());
  // An API server that is away keeps the start waiting; the Lease is to be renewed, or lost, meanwhile.
  workers.Spawn("leader", leader.Run(workers));
  Result<> held = co_await elector_.Hold();
  bool cancelled = FailedWith(held, kube::Code::kCancelled);
  LOG_IF(WARNING, !cancelled) << "leads no more: " << held.error();

  // What is under way is finished, then the next leader need not wait.
  Result<> stopped;
  do {
    kube::Duration grace = app_.stopping() ? app_.grace_left() : kEndOfTerm;
    stopped = co_await workers.Stop(app_.clock(), grace);
    // Asked to stop only now.
    cancelled = cancelled || FailedWith(stopped, kube::Code::kCancelled);
  } while (FailedWith(stopped, kube::Code::kCancelled));
  Result<> released = co_await elector_.Release();
  LOG_IF(WARNING, !released) << "release the Lease: " << released.error();
  if (!stopped) co_return stopped.error();
  co_return !cancelled;
}

}  // namespace operator_
