// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/wire_time.h"

#include <chrono>
#include <cstdio>

#include "kube/base/clock.h"

namespace kube {
namespace {

constexpr int64_t kYear2260 = 9'151'488'000;  // 2260-01-01
constexpr size_t kNanoDigits = 9;
constexpr size_t kMicroDigits = 6;

}  // namespace

Result<std::string> WireTimeText(WireTime time, bool micro) {
  if (time.seconds < 0 || time.seconds >= kYear2260 || time.nanos < 0 || time.nanos > 999'999'999)
    return Error::Invalid("a time out of range: " + std::to_string(time.seconds) + " s");
  std::string text = FormatTime(WallTime(std::chrono::seconds(time.seconds)));
  if (!micro && time.nanos == 0) return text;
  char fraction[16];
  snprintf(fraction, sizeof fraction, ".%09d", time.nanos);
  std::string digits = fraction;
  size_t shortest = 1 + (micro ? kMicroDigits : 1);
  while (digits.size() > shortest && digits.back() == '0') digits.pop_back();
  return text.substr(0, text.size() - 1) + digits + "Z";
}

Result<WireTime> ParseWireTime(std::string_view text) {
  Result<WallTime> parsed = ParseTime(text);
  if (!parsed) return parsed.error();
  WireTime time;
  time.seconds = std::chrono::floor<std::chrono::seconds>(parsed->time_since_epoch()).count();
  size_t dot = text.find('.');
  if (dot == std::string_view::npos) return time;
  int32_t unit = 100'000'000;
  for (size_t i = dot + 1; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
    if (i > dot + kNanoDigits) break;
    time.nanos += (text[i] - '0') * unit;
    unit /= 10;
  }
  return time;
}

}  // namespace kube
