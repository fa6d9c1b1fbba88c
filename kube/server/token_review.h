// SPDX-License-Identifier: Apache-2.0
// For servers whose clients show a bearer token: a TokenReview says whose it is, and a
// SubjectAccessReview whether that user may do what is asked for. The API server decides both.
//
// Clients are untrusted: ReviewLimiter bounds how many reviews they can cause. A token is neither
// kept nor logged. Thread: the client's.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/types/unstructured.h"

namespace kube {

// Bytes of the value of a header Authorization; a longer one is refused without a review.
inline constexpr size_t kMaxAuthorizationBytes = 8 * 1024;

// The token of "Bearer TOKEN"; empty for any other text (RFC 6750, section 2.1).
std::string BearerTokenOf(const std::string& authorization);

struct AccessVerdict {
  // 200; 401 (no valid token), 403 (valid, without the right), or 503 if the API server does not
  // answer in time or too many reviews are asked for.
  int status = 503;
  // Says why, unless 200.
  std::string reason = {};
  // Whose token it is, if 200; at most kMaxUserBytes.
  std::string user = {};
};

inline constexpr size_t kMaxUserBytes = 256;

// What a user is to be allowed.
struct AskedAccess {
  // {"nonResourceAttributes": ...} or {"resourceAttributes": ...}, as in a SubjectAccessReview.
  Json attributes = {};
  // The same for a reader, after "may": "get the non-resource URL /metrics".
  std::string text;
};

// `timeout`: for both reviews together. Never fails.
asio::awaitable<AccessVerdict> ReviewToken(Client& client, Clock& clock, std::string token,
                                           AskedAccess asked, std::chrono::milliseconds timeout);

struct ReviewLimits {
  int at_a_time = 4;
  double burst = 10;
  double per_second = 2;  // after a burst
};

class ReviewLimiter {
 public:
  struct End {
    void operator()(int* running) const { --*running; }
  };
  // A review that runs; it ends with the slot.
  using Slot = std::unique_ptr<int, End>;

  // `clock` outlives this object, and this object its slots.
  ReviewLimiter(Clock& clock, ReviewLimits limits);

  // Empty if no review may start now.
  Slot Start();

 private:
  Clock& clock_;
  ReviewLimits limits_;
  int running_ = 0;
  double allowance_;
  TimePoint refilled_;
};

}  // namespace kube
