// SPDX-License-Identifier: Apache-2.0
// DebugAccess: which users may ask the debug server about a Placement: users with the same right at
// the API server (kube/server/token_review.h).
//
// Clients are untrusted: the number of reviews at a time and their rate are bounded, so they cannot
// make this process load the API server. Nothing is remembered: these requests are made by hand.
// Thread: the client's.
#pragma once

#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/server/token_review.h"
#include "kube/types/resource.h"

namespace fleet {

class DebugAccess {
 public:
  // Both outlive this object.
  DebugAccess(kube::Client& client, kube::Clock& clock,
              kube::ReviewLimits limits = {.at_a_time = 4, .burst = 20, .per_second = 5});

  // Whether the sender of `authorization`, the value of that header, may `verb` (get, create) the
  // Placement. A status 503 becomes 500 here. Never fails.
  boost::asio::awaitable<kube::AccessVerdict> Check(std::string authorization, std::string verb,
                                                    kube::ObjectKey placement);

 private:
  kube::Client& client_;
  kube::Clock& clock_;
  kube::ReviewLimiter limiter_;
};

}  // namespace fleet
