// SPDX-License-Identifier: Apache-2.0
#include "kube/base/clock.h"

#include <boost/asio/steady_timer.hpp>
#include <cstdio>
#include <ctime>

namespace kube {
namespace {

class MachineClock final : public Clock {
 public:
  TimePoint Now() const override { return std::chrono::steady_clock::now(); }
  WallTime WallNow() const override { return std::chrono::system_clock::now(); }

  Async<> SleepUntil(TimePoint when) override {
    co_await IgnoreCancellation();
    auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor, when);
    auto waited = co_await timer.async_wait(kTuple);
    if (std::get<0>(waited)) co_return Error::Cancelled("sleep");
    co_return Ok();
  }
};

}  // namespace

Clock& RealClock() {
  static MachineClock clock;
  return clock;
}

std::string FormatTime(WallTime time) {
  std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

Result<WallTime> ParseTime(std::string_view text) {
  std::string copy(text);
  std::tm utc{};
  int end = 0;
  if (std::sscanf(copy.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%n", &utc.tm_year, &utc.tm_mon, &utc.tm_mday, &utc.tm_hour,
                  &utc.tm_min, &utc.tm_sec, &end) != 6) {
    return Error::Invalid("not an RFC 3339 time: " + copy.substr(0, 40));
  }
  utc.tm_year -= 1900;
  utc.tm_mon -= 1;
  std::chrono::microseconds fraction{0};
  const char* rest = copy.c_str() + end;
  if (*rest == '.') {
    ++rest;
    for (int unit = 100'000; *rest >= '0' && *rest <= '9'; ++rest, unit /= 10) fraction += std::chrono::microseconds((*rest - '0') * unit);
  }
  if (std::string_view(rest) != "Z") return Error::Invalid("not a UTC time: " + copy.substr(0, 40));
  return std::chrono::system_clock::from_time_t(timegm(&utc)) + fraction;
}

}  // namespace kube
