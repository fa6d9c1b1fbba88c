// SPDX-License-Identifier: Apache-2.0
// Publisher: one thing that the agent writes from time to time, most of them to the hub. Each has
// its own loop, so that one that the hub refuses does not stop the others.
#pragma once

#include <chrono>
#include <string_view>

#include "kube/base/async.h"
#include "kube/base/clock.h"

namespace fleet {

// When to look again while the watches that a publisher reads are not complete.
inline constexpr std::chrono::seconds kUntilComplete{1};

class Publisher {
 public:
  virtual ~Publisher() = default;

  // For logs: "lease".
  virtual std::string_view name() const = 0;
  // Writes what differs. Returns: when to look again.
  virtual kube::Async<kube::Duration> Publish() = 0;
};

// Publishes until cancelled. After an error it waits from half a second, doubling, to half a
// minute; a conflict is not logged.
boost::asio::awaitable<void> KeepPublishing(Publisher& publisher, kube::Clock& clock);

}  // namespace fleet
