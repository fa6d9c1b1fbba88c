// SPDX-License-Identifier: Apache-2.0
#include "fleet/agent/publisher.h"

#include <glog/logging.h>

#include <chrono>

#include "kube/base/backoff.h"
#include "kube/base/one_line.h"

namespace fleet {

boost::asio::awaitable<void> KeepPublishing(Publisher& publisher, kube::Clock& clock) {
  co_await kube::IgnoreCancellation();
  kube::Backoff backoff({.base = std::chrono::seconds(1)});
  while (true) {
    kube::Result<kube::Duration> next = co_await publisher.Publish();
    bool cancelled = co_await kube::IsCancelled();
    if (cancelled) co_return;
    kube::Duration delay{};
    if (next) {
      backoff.Reset();
      delay = *next;
    } else {
      delay = backoff.Next();
      bool conflict = next.error().code() == kube::Code::kConflict;
      // One warning when errors begin, not one per attempt.
      if (!conflict && backoff.failures() == 1) {
        LOG(WARNING) << "publish " << publisher.name() << ": "
                     << kube::OneLine(next.error().ToString());
      } else {
        VLOG(1) << "publish " << publisher.name() << ": " << kube::OneLine(next.error().ToString());
      }
    }
    kube::Result<> slept = co_await clock.Sleep(delay);
    if (!slept) co_return;
  }
}

}  // namespace fleet
