// SPDX-License-Identifier: Apache-2.0
// Budget: how much of the evaluator's time each namespace may use, so that the expressions of one
// namespace hardly delay those of others. Pure.
//
// A namespace may use kAtOnce in advance, and kShare of the time in the long run. What it uses
// beyond that, it waits for. Thread: one.
#pragma once

#include <chrono>
#include <string>
#include <unordered_map>

#include "kube/base/clock.h"

namespace fleet::cel {

class Budget {
 public:
  static constexpr int kShare = 5;  // a fifth of the time
  // Enough for all clusters of a large fleet with some selectors.
  static constexpr std::chrono::seconds kAtOnce{5};

  // Records that `ns` has used this time.
  void Charge(const std::string& ns, kube::Duration used, kube::TimePoint now);
  // How long `ns` has to wait before it may use more; zero: not at all.
  kube::Duration Wait(const std::string& ns, kube::TimePoint now) const;

  // The namespaces that are remembered, for tests.
  size_t size() const { return debts_.size(); }

 private:
  struct Debt {
    kube::Duration time{};  // used and not paid back, at `since`
    kube::TimePoint since;
  };
  static kube::Duration Left(const Debt& debt, kube::TimePoint now);

  std::unordered_map<std::string, Debt> debts_;
  // The size at which namespaces without debt are forgotten.
  size_t sweep_at_ = 64;
};

}  // namespace fleet::cel
