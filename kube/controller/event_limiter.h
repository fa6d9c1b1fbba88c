// SPDX-License-Identifier: Apache-2.0
// EventLimiter: which events of work that fails again and again are told. An object that is tried
// for hours should say why, but not with an event for each try.
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
  // `clock` outlives it.
  explicit EventLimiter(Clock& clock, Duration interval = std::chrono::minutes(5))
      : clock_(clock), interval_(interval) {}

  // False if `text` was allowed for `about` less than the interval ago.
  bool Allow(const ObjectKey& about, std::string_view text);

 private:
  Clock& clock_;
  Duration interval_;
  std::unordered_map<size_t, TimePoint> allowed_;  // by object and text
};

}  // namespace kube
