// SPDX-License-Identifier: Apache-2.0
// EventLimiter: limits how often an object that fails repeatedly records the same event: once per
// interval, not once per attempt.
//
//   if (limiter.Allow(key, message)) events.Record(...);
#pragma once

#include <string_view>
#include <unordered_map>

#include "kube/base/clock.h"
#include "kube/types/resource.h"

namespace kube {

class EventLimiter {
 public:
  // `clock` outlives this object.
  explicit EventLimiter(Clock& clock, Duration interval = std::chrono::minutes(5))
      : clock_(clock), interval_(interval) {}

  // False if the same `text` was allowed for `about` within the last interval.
  bool Allow(const ObjectKey& about, std::string_view text);

 private:
  Clock& clock_;
  Duration interval_;
  std::unordered_map<size_t, TimePoint> allowed_;  // by object and text
};

}  // namespace kube
