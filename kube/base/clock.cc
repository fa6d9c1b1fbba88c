// SPDX-License-Identifier: Apache-2.0
#include "kube/base/clock.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <charconv>
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
    bool cancelled = co_await IsCancelled();
    if (cancelled) {
      // Yields: a caller that ignores the cancellation does not starve other coroutines.
      co_await asio::post(executor, asio::use_awaitable);
      co_return Error::Cancelled("sleep");
    }
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
  if (std::sscanf(copy.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%n", &utc.tm_year, &utc.tm_mon,
                  &utc.tm_mday, &utc.tm_hour, &utc.tm_min, &utc.tm_sec, &end) != 6) {
    return Error::Invalid("not an RFC 3339 time: " + copy.substr(0, 40));
  }
  utc.tm_year -= 1900;
  utc.tm_mon -= 1;
  std::chrono::microseconds fraction{0};
  const char* rest = copy.c_str() + end;
  if (*rest == '.') {
    ++rest;
    for (int unit = 100'000; *rest >= '0' && *rest <= '9'; ++rest, unit /= 10)
      fraction += std::chrono::microseconds((*rest - '0') * unit);
  }
  if (std::string_view(rest) != "Z") return Error::Invalid("not a UTC time: " + copy.substr(0, 40));
  return std::chrono::system_clock::from_time_t(timegm(&utc)) + fraction;
}

Result<Duration> ParseDuration(std::string_view text) {
  // At most a year: the sum of several durations does not overflow.
  constexpr int64_t kMaxMilliseconds = int64_t{365} * 24 * 3600 * 1000;
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view unit(end, text.data() + text.size() - end);
  int64_t milliseconds = unit == "ms"  ? 1
                         : unit == "s" ? 1000
                         : unit == "m" ? 60'000
                         : unit == "h" ? 3'600'000
                                       : 0;
  if (error != std::errc() || milliseconds == 0 || number < 0 ||
      number > kMaxMilliseconds / milliseconds) {
    return Error::Invalid("not a duration such as 500ms, 20s, 5m or 1h: \"" +
                          std::string(text.substr(0, 40)) + "\"");
  }
  return Duration(std::chrono::milliseconds(number * milliseconds));
}

}  // namespace kube
