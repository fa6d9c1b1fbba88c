// SPDX-License-Identifier: Apache-2.0
// Answering: the namespaces whose questions are being answered. Each for one caller at a time, so
// that nothing is evaluated twice and a budget that was checked stays so; a few in all, so that the
// other callers are free for other work; in the order in which the namespaces asked. No I/O.
//
//   std::optional<Answering::Turn> turn = answering.Begin(ns, now);
//   if (!turn) ... again after kRetry ...
//   ...  // until the turn is destroyed
//
// Thread: one.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "kube/base/clock.h"

namespace fleet::cel {

class Answering {
 public:
  // Until its destruction, the namespace is being answered. It may outlive the Answering.
  using Turn = std::shared_ptr<void>;

  static constexpr std::chrono::milliseconds kRetry{200};
  // A turn of so long ends if another namespace waits.
  static constexpr std::chrono::seconds kMaxTurn{1};
  // A namespace that does not ask again for so long loses its place in the order.
  static constexpr std::chrono::seconds kForget{2};

  // `max`: namespaces at a time, at least one.
  explicit Answering(size_t max) : max_(max > 0 ? max : 1) {}

  // nullopt: not now.
  std::optional<Turn> Begin(const std::string& ns, kube::TimePoint now);
  // Whether the namespace is being answered, or was told "not now" less than kRetry ago: its other
  // callers need not prepare their questions.
  bool Busy(const std::string& ns, kube::TimePoint now) const;
  // Whether a turn that began at `start` is to end, for another namespace.
  bool Over(kube::TimePoint start, kube::TimePoint now) const;

 private:
  struct Waiting {
    std::string ns;
    kube::TimePoint asked;
  };

  const size_t max_;
  std::shared_ptr<std::set<std::string>> answered_ = std::make_shared<std::set<std::string>>();
  std::list<Waiting> waiting_;  // in the order of their first question
};

}  // namespace fleet::cel
