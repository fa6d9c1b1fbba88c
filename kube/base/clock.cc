// SPDX-License-Identifier: Apache-2.0
#include "kube/base/clock.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <charconv>
#include <ctime>
#include <optional>

namespace kube {
namespace {

using namespace std::chrono_literals;

class MachineClock final : public Clock {
 public:
  TimePoint Now() const override { return std::chrono::steady_clock::now(); }
  WallTime WallNow() const override { return std::chrono::system_clock::now(); }

  Async<> SleepUntil(TimePoint when) override {
    co_await IgnoreCancellation();
    Result<> running = co_await FailIfCancelled();
    if (!running) co_return running;
    auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor, when);
    auto waited = co_await timer.async_wait(kTuple);
    if (std::get<0>(waited)) co_return Error::Cancelled("sleep");
    co_return Ok();
  }
};

// `pattern` has a 0 for each digit.
bool StartsLike(std::string_view text, std::string_view pattern) {
  if (text.size() < pattern.size()) return false;
  return std::equal(pattern.begin(), pattern.end(), text.begin(), [](char wanted, char found) {
    return wanted == '0' ? found >= '0' && found <= '9' : found == wanted;
  });
}

// The number that these digits are.
int NumberAt(std::string_view text, size_t at, size_t digits) {
  int number = 0;
  std::from_chars(text.data() + at, text.data() + at + digits, number);
  return number;
}

// Removes ".25" from the start of `text`. Digits after the sixth do not count.
std::chrono::microseconds TakeFraction(std::string_view& text) {
  std::chrono::microseconds fraction{0};
  if (!text.starts_with('.')) return fraction;
  text.remove_prefix(1);
  for (int unit = 100'000; StartsLike(text, "0"); text.remove_prefix(1), unit /= 10)
    fraction += std::chrono::microseconds((text[0] - '0') * unit);
  return fraction;
}

// The offset of "Z", "+02:30" or "-05:00".
std::optional<std::chrono::minutes> ZoneOf(std::string_view text) {
  if (text == "Z") return std::chrono::minutes(0);
  bool west = text.starts_with('-');
  if (text.size() != 6 || !StartsLike(text, west ? "-00:00" : "+00:00")) return std::nullopt;
  int hours = NumberAt(text, 1, 2);
  int minutes = NumberAt(text, 4, 2);
  if (hours > 23 || minutes > 59) return std::nullopt;
  std::chrono::minutes offset(60 * hours + minutes);
  return west ? -offset : offset;
}

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
  auto malformed = [text] {
    return Error::Invalid("not an RFC 3339 time: " + std::string(text.substr(0, 40)));
  };
  constexpr std::string_view kPattern = "0000-00-00T00:00:00";
  if (!StartsLike(text, kPattern)) return malformed();
  std::chrono::year year(NumberAt(text, 0, 4));
  std::chrono::month month(NumberAt(text, 5, 2));
  std::chrono::day day(NumberAt(text, 8, 2));
  std::chrono::hours hours(NumberAt(text, 11, 2));
  std::chrono::minutes minutes(NumberAt(text, 14, 2));
  std::chrono::seconds seconds(NumberAt(text, 17, 2));
  bool valid = (year / month / day).ok() && hours < 24h && minutes < 60min && seconds <= 60s;
  if (!valid) return malformed();

  text.remove_prefix(kPattern.size());
  std::chrono::microseconds fraction = TakeFraction(text);
  std::optional<std::chrono::minutes> zone = ZoneOf(text);
  if (!zone) return malformed();

  // system_clock counts nanoseconds and ends in 2262.
  constexpr std::chrono::year kFirst(1970), kLast(2260);
  if (year < kFirst) return WallTime();
  std::chrono::sys_days date = std::min(year, kLast) / month / day;
  return date + hours + minutes + seconds + fraction - *zone;
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
