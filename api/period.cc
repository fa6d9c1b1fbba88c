// SPDX-License-Identifier: Apache-2.0
#include "api/period.h"

#include <charconv>
#include <string>

namespace api {
namespace {

using std::chrono::seconds;

constexpr seconds kDay = std::chrono::hours(24);

// In the largest unit that needs no second one.
std::string Format(seconds period) {
  if (period % std::chrono::hours(1) == seconds(0))
    return std::to_string(period / std::chrono::hours(1)) + "h";
  if (period % std::chrono::minutes(1) == seconds(0))
    return std::to_string(period / std::chrono::minutes(1)) + "m";
  return std::to_string(period.count()) + "s";
}

// 0 if `name` is not a unit.
seconds Unit(char name) {
  switch (name) {
    case 's':
      return seconds(1);
    case 'm':
      return std::chrono::minutes(1);
    case 'h':
      return std::chrono::hours(1);
    default:
      return seconds(0);
  }
}

}  // namespace

kube::Result<seconds> ParsePeriod(std::string_view text, Period period) {
  kube::Error refused =
      kube::Error::Invalid("must be a duration from " + Format(period.low) + " to " +
                           Format(period.high) + ", for example 30s or 1m30s");
  const char* at = text.data();
  const char* end = at + text.size();
  seconds total{0};
  while (at != end) {
    uint32_t number = 0;
    auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc() || next == end || number > kDay.count()) return refused;
    seconds unit = Unit(*next);
    if (unit == seconds(0)) return refused;
    total += number * unit;
    if (total > kDay) return refused;  // before it can overflow
    at = next + 1;
  }
  if (text.empty() || total < period.low || total > period.high) return refused;
  return total;
}

}  // namespace api
