// SPDX-License-Identifier: Apache-2.0
// ForMutations(): calls `check` with randomly damaged copies of valid inputs, the same ones in
// every run.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace inspection {

inline void ForMutations(const std::vector<std::string>& seeds, int rounds,
                         const std::function<void(const std::string&)>& check) {
  using namespace std::string_view_literals;
  static constexpr std::string_view kCharacters = "\"'\\{}[],:=/.@*%#\n\t\0 \xff\xc3-_019azAZ"sv;
  std::mt19937 random(20260101);
  auto below = [&](size_t limit) { return static_cast<size_t>(random() % limit); };
  for (int round = 0; round < rounds; ++round) {
    std::string text = seeds[below(seeds.size())];
    for (size_t change = 1 + below(4); change > 0; --change) {
      size_t at = text.empty() ? 0 : below(text.size());
      switch (below(5)) {
        case 0:
          if (!text.empty()) text[at] = kCharacters[below(kCharacters.size())];
          break;
        case 1:
          text.insert(at, 1, kCharacters[below(kCharacters.size())]);
          break;
        case 2:
          text.erase(at, 1 + below(4));
          break;
        case 3:
          text.resize(at);
          break;
        case 4:
          text.insert(at, text.substr(at, 1 + below(20)));
          break;
      }
    }
    check(text);
  }
}

}  // namespace inspection
