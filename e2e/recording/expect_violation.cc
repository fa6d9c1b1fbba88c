// SPDX-License-Identifier: Apache-2.0
#include "e2e/recording/expect_violation.h"

#include <utility>

namespace e2e {
namespace {

std::vector<Expected>& All() {
  static std::vector<Expected> all;
  return all;
}

}  // namespace

void ExpectViolation(Expected expected) { All().push_back(std::move(expected)); }

std::vector<Expected> TakeExpectedViolations() { return std::exchange(All(), {}); }

}  // namespace e2e
