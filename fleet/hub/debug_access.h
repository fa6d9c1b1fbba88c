// SPDX-License-Identifier: Apache-2.0
// DebugAccess: who may ask the debug server about a Placement. The API server decides: a
// TokenReview says whose the bearer token is, a SubjectAccessReview what that user may do.
//
// Clients are untrusted: the number of reviews at a time and their rate are bounded, so they cannot
// make this process load the API server. Nothing is remembered: these requests are made by hand.
// The token is neither kept nor logged. Thread: the client's.
#pragma once

#include <chrono>
#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/types/resource.h"

namespace fleet {

struct DebugAccessOptions {
  // A longer token is refused without a review.
  size_t max_token_bytes = 8 * 1024;
  // Checks at a time, in a burst, and per second after it.
  int max_checks = 4;
  double burst = 20;
  double per_second = 5;
  // For both reviews together.
  std::chrono::milliseconds timeout{5'000};
};

class DebugAccess {
 public:
  struct Verdict {
    // 200; 401 (no valid token), 403 (valid, without the right), or 500 if the API server does not
    // answer in time or there are too many requests.
    int status = 500;
    // Says why, unless 200.
    std::string reason;
  };

  // Both outlive this object.
  DebugAccess(kube::Client& client, kube::Clock& clock, DebugAccessOptions options = {});

  // Whether the sender of `authorization`, the value of that header, may `verb` (get, create) the
  // Placement. Never fails.
  boost::asio::awaitable<Verdict> Check(std::string authorization, std::string verb,
                                        kube::ObjectKey placement);

 private:
  boost::asio::awaitable<Verdict> Ask(std::string token, std::string verb,
                                      kube::ObjectKey placement);
  // True if a check may start now.
  bool MayStart();

  kube::Client& client_;
  kube::Clock& clock_;
  DebugAccessOptions options_;
  int running_ = 0;
  double allowance_;
  kube::TimePoint refilled_;
};

}  // namespace fleet
