// SPDX-License-Identifier: Apache-2.0
#include "kube/base/base64.h"

#include <cstdint>

namespace kube {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int ValueOf(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

}  // namespace

std::string Base64Encode(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4, '=');
  char* out = text.data();
  for (size_t i = 0; i < bytes.size(); i += 3, out += 4) {
    size_t left = bytes.size() - i;
    auto at = [&](size_t k) {
      return k < left ? static_cast<uint32_t>(static_cast<unsigned char>(bytes[i + k])) : 0u;
    };
    uint32_t group = at(0) << 16 | at(1) << 8 | at(2);
    out[0] = kAlphabet[group >> 18];
    out[1] = kAlphabet[group >> 12 & 63];
    if (left > 1) out[2] = kAlphabet[group >> 6 & 63];
    if (left > 2) out[3] = kAlphabet[group & 63];
  }
  return text;
}

Result<std::string> Base64Decode(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  uint32_t group = 0;
  int bits = 0;
  int digits = 0;
  bool padded = false;
  for (char c : text) {
    if (c == '\n' || c == '\r' || c == ' ' || c == '\t') continue;
    if (c == '=') {
      padded = true;
      continue;
    }
    int value = ValueOf(c);
    if (value < 0 || padded) return Error::Invalid("not base64");
    ++digits;
    group = group << 6 | static_cast<uint32_t>(value);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes += static_cast<char>(group >> bits & 0xff);
    }
  }
  if (digits % 4 == 1) return Error::Invalid("base64 is truncated");
  return bytes;
}

}  // namespace kube
