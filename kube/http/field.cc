// SPDX-License-Identifier: Apache-2.0
#include "kube/http/field.h"

#include <array>
#include <cstdint>
#include <cstring>

namespace kube {
namespace {

// Lookup tables: both functions run for every character of every request header.
using Table = std::array<bool, 256>;

constexpr Table kTokenChars = [] {
  Table table{};
  for (char c = '0'; c <= '9'; ++c) table[static_cast<unsigned char>(c)] = true;
  for (char c = 'A'; c <= 'Z'; ++c) table[static_cast<unsigned char>(c)] = true;
  for (char c = 'a'; c <= 'z'; ++c) table[static_cast<unsigned char>(c)] = true;
  for (char c : std::string_view("!#$%&'*+-.^_`|~")) table[static_cast<unsigned char>(c)] = true;
  return table;
}();

constexpr Table kValueChars = [] {
  Table table{};
  for (size_t c = 0; c < table.size(); ++c) table[c] = c == '\t' || (c >= ' ' && c != 0x7f);
  return table;
}();

bool AllIn(const Table& table, std::string_view text) {
  for (char c : text) {
    if (!table[static_cast<unsigned char>(c)]) return false;
  }
  return true;
}

// True if a byte of `word` is less than 0x20 or equal to 0x7f.
bool HasControl(uint64_t word) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  constexpr uint64_t kHighs = 0x80 * kOnes;
  uint64_t deleted = word ^ (0x7f * kOnes);
  return (((word - 0x20 * kOnes) & ~word) | ((deleted - kOnes) & ~deleted)) & kHighs;
}

}  // namespace

bool IsTokenChar(char c) { return kTokenChars[static_cast<unsigned char>(c)]; }

bool IsToken(std::string_view text) { return !text.empty() && AllIn(kTokenChars, text); }

bool IsFieldValue(std::string_view text) {
  // Eight characters at a time: a bearer token has about a thousand, in every request.
  while (text.size() >= sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, text.data(), sizeof word);
    if (HasControl(word) && !AllIn(kValueChars, text.substr(0, sizeof word))) return false;
    text.remove_prefix(sizeof word);
  }
  return AllIn(kValueChars, text);
}

}  // namespace kube
