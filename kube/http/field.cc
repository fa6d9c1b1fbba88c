// SPDX-License-Identifier: Apache-2.0
#include "kube/http/field.h"

#include <array>

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

}  // namespace

bool IsTokenChar(char c) { return kTokenChars[static_cast<unsigned char>(c)]; }

bool IsToken(std::string_view text) { return !text.empty() && AllIn(kTokenChars, text); }

bool IsFieldValue(std::string_view text) { return AllIn(kValueChars, text); }

}  // namespace kube
