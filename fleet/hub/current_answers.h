// SPDX-License-Identifier: Apache-2.0
// CurrentAnswers: the debug server's answers about Placements, by the term of leadership that runs
// now. Thread: the client's.
#pragma once

#include <optional>
#include <utility>

#include "fleet/hub/debug_server.h"
#include "fleet/hub/leader.h"
#include "kube/base/async.h"

namespace fleet {

class CurrentAnswers final : public DebugAnswers {
 public:
  // `current` outlives this; nullptr between terms.
  explicit CurrentAnswers(Leader*& current) : current_(current) {}

  // DebugAnswers. Errors: also kUnavailable between terms.
  kube::Async<kube::Json> Answer(kube::ObjectKey placement,
                                 std::optional<kube::Json> simulated) override {
    if (current_ == nullptr) co_return kube::Error::Unavailable("this replica is not the leader");
    Leader& leader = *current_;
    co_return co_await leader.Answer(std::move(placement), std::move(simulated));
  }

 private:
  Leader*& current_;
};

}  // namespace fleet
