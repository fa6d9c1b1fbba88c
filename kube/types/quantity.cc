// SPDX-License-Identifier: Apache-2.0
#include "kube/types/quantity.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

namespace kube {
namespace {

struct Suffix {
  std::string_view text;
  std::string_view exponent;  // decimal
  double factor;              // binary
};

constexpr Suffix kSuffixes[] = {
    {"", "", 1},        {"n", "e-9", 1},    {"u", "e-6", 1},    {"m", "e-3", 1},
    {"k", "e3", 1},     {"M", "e6", 1},     {"G", "e9", 1},     {"T", "e12", 1},
    {"P", "e15", 1},    {"E", "e18", 1},    {"Ki", "", 0x1p10}, {"Mi", "", 0x1p20},
    {"Gi", "", 0x1p30}, {"Ti", "", 0x1p40}, {"Pi", "", 0x1p50}, {"Ei", "", 0x1p60},
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// "e3" or "E-3".
bool IsExponent(std::string_view text) {
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return false;
  text.remove_prefix(text[1] == '+' || text[1] == '-' ? 2 : 1);
  constexpr size_t kMaxDigits = 4;
  return !text.empty() && text.size() <= kMaxDigits &&
         std::all_of(text.begin(), text.end(), IsDigit);
}

// What follows the "e": from_chars() accepts no '+' there before some versions.
std::string Exponent(std::string_view text) {
  text.remove_prefix(1);
  if (text[0] == '+') text.remove_prefix(1);
  return "e" + std::string(text);
}

int64_t Rounded(double value) {
  return value >= 0x1p63 ? std::numeric_limits<int64_t>::max() : std::llround(value);
}

// `amount` with the largest of `suffixes` that leaves a whole number; each stands for `step` times
// the one before.
std::string WithSuffix(int64_t amount, int64_t step, std::span<const std::string_view> suffixes) {
  size_t suffix = 0;
  while (amount != 0 && amount % step == 0 && suffix + 1 < suffixes.size()) {
    amount /= step;
    ++suffix;
  }
  return std::to_string(amount) + std::string(amount == 0 ? "" : suffixes[suffix]);
}

}  // namespace

std::optional<double> ParseQuantity(std::string_view text) {
  constexpr size_t kMaxLength = 64;
  constexpr double kMax = 0x1p63;
  if (text.size() > kMaxLength) return std::nullopt;
  bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);

  auto end = std::find_if(text.begin(), text.end(), [](char c) { return !IsDigit(c) && c != '.'; });
  std::string_view digits = text.substr(0, static_cast<size_t>(end - text.begin()));
  std::string_view rest = text.substr(digits.size());
  if (std::count(digits.begin(), digits.end(), '.') > 1) return std::nullopt;
  if (std::none_of(digits.begin(), digits.end(), IsDigit)) return std::nullopt;

  // A leading 0: from_chars() wants a digit before the point.
  std::string number = "0" + std::string(digits);
  double factor = 1;
  if (IsExponent(rest)) {
    number += Exponent(rest);
  } else {
    const Suffix* suffix = std::find_if(std::begin(kSuffixes), std::end(kSuffixes),
                                        [&](const Suffix& s) { return s.text == rest; });
    if (suffix == std::end(kSuffixes)) return std::nullopt;
    number += suffix->exponent;
    factor = suffix->factor;
  }
  double value = 0;
  auto [parsed, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  // Out of range is too large, or too small to differ from 0.
  if (error == std::errc::result_out_of_range) {
    value = number.find("e-") == std::string::npos ? kMax : 0;
  } else if (error != std::errc() || parsed != number.data() + number.size()) {
    return std::nullopt;
  }
  value = std::min(value * factor, kMax);
  return negative ? -value : value;
}

std::string CanonicalCpu(std::string_view text) {
  constexpr std::string_view kSuffixes[] = {"m", ""};
  return WithSuffix(Rounded(ParseQuantity(text).value_or(0) * 1000), 1000, kSuffixes);
}

std::string CanonicalMemory(std::string_view text) {
  constexpr std::string_view kBinary[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  constexpr std::string_view kDecimal[] = {"", "k", "M", "G", "T", "P", "E"};
  int64_t bytes = Rounded(ParseQuantity(text).value_or(0));
  return bytes % 1024 == 0 ? WithSuffix(bytes, 1024, kBinary) : WithSuffix(bytes, 1000, kDecimal);
}

}  // namespace kube
