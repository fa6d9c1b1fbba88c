// SPDX-License-Identifier: Apache-2.0
// ProbeTurns: which webhook is probed when, and what the results mean. Pure.
//
// One probe at a time, and all of them evenly spaced, so that a thousand shards cost the API server
// no more than a few: each webhook is probed once an interval, or as often as its turn comes. The
// cluster's webhook comes first. A webhook that a probe did not reach is probed again soon, and is
// unreachable after several failures in a row; the retries take at most half of the turns.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kube/base/clock.h"
#include "operator/probes/reach.h"

namespace operator_ {

struct ProbeTiming {
  // Between two probes: at most 30 a minute, however many webhooks there are.
  std::chrono::milliseconds pace{2'000};
  // Between two probes of one webhook.
  std::chrono::milliseconds interval{60'000};
  // The same after a failure that is not reported yet.
  std::chrono::milliseconds retry{5'000};
  // Before the first probe of a webhook that was just rolled out: API servers learn of its
  // configuration, its endpoints and its certificate with a delay.
  std::chrono::milliseconds settle{10'000};
  // Failures in a row until a webhook is unreachable.
  int failures = 3;
};

enum class ProbeResult {
  kArrived,
  kNotArrived,  // the API server answered, and did not call the webhook
  kUnknown,     // it refused the probe, or did not answer
};

class ProbeTurns {
 public:
  explicit ProbeTurns(ProbeTiming timing = {}) : timing_(timing) {}

  // `scope`, here and below: the namespace of a shard; "" for the cluster. Its webhook is
  // configured and completely rolled out. Returns: whether it was not followed before.
  bool Follow(const std::string& scope, kube::TimePoint now);
  // It is not rolled out: probes would say nothing new. What is known stays.
  void Pause(const std::string& scope);
  // The API server does not call it any more.
  void Forget(const std::string& scope) { scopes_.erase(scope); }

  // The scope to probe now; nullopt if none is due. Record() follows.
  std::optional<std::string> Take(kube::TimePoint now);
  // Returns: whether Of() has changed. A result for a scope that was forgotten has no effect.
  bool Record(const std::string& scope, ProbeResult result, kube::TimePoint now);
  // When the next probe is due; nullopt if nothing is followed.
  std::optional<kube::TimePoint> Next() const;

  Reach Of(const std::string& scope) const;
  // The scopes that are unreachable.
  std::vector<std::string> Unreachable() const;

 private:
  struct Scope {
    kube::TimePoint due;
    bool paused = false;
    // In a row.
    int failures = 0;
    Reach reach = Reach::kUnknown;

    // A failure is to be confirmed.
    bool retries() const { return failures > 0 && reach != Reach::kUnreachable; }
  };

  ProbeTiming timing_;
  std::map<std::string, Scope> scopes_;
  // When the last probe began.
  std::optional<kube::TimePoint> last_;
  bool last_was_retry_ = false;
};

}  // namespace operator_
