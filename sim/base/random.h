// SPDX-License-Identifier: Apache-2.0
// Random: the random numbers of one run. The same seed gives the same numbers on every machine:
// unlike mt19937_64, the distributions of the library are not specified.
#pragma once

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "kube/base/clock.h"

namespace sim {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  // 0 to n-1. n > 0.
  uint64_t Below(uint64_t n) { return engine_() % n; }
  // True once in `n`. n > 0.
  bool OnceIn(uint64_t n) { return Below(n) == 0; }
  // From `least` to `most`, in milliseconds' steps.
  kube::Duration Between(kube::Duration least, kube::Duration most);
  // `items` is not empty.
  template <class T>
  const T& Of(const std::vector<T>& items) {
    return items[Below(items.size())];
  }
  // Puts `items` into any order.
  template <class T>
  void Shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[Below(i)]);
  }
  // A generator of its own: what draws from it does not change the numbers of this one.
  Random Fork() { return Random(engine_()); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace sim
