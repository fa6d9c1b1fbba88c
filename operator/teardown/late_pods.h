// SPDX-License-Identifier: Apache-2.0
// LatePods: ungates pods that API servers store with a gate after a teardown (I7).
//
//   LatePods late_pods(client, clock);
//   co_return co_await late_pods.Look(log);  // no config asks for operands, and there are none
//   late_pods.Forget();                      // there is a config again
//
// An API server may store a pod long after a webhook or a policy added the gate: another product's
// webhook, or a quota, delays the request up to its timeout. So no teardown can wait for these
// pods without delaying its user by a minute. This looks for them afterwards, and after each start
// of an operator without a config: it needs no mark of a teardown that another operator completed.
// Thread: the client's.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/controller/reconciler.h"
#include "operator/teardown/ungate.h"

namespace operator_ {

// How long after gating has stopped an API server may store a gated pod: its --request-timeout,
// which is 60 s by default, and a margin.
inline constexpr std::chrono::seconds kStoredLate{65};

// Between two rounds over the pods that look for late ones.
inline constexpr std::chrono::milliseconds kLatePoll{5'000};

// Removes both gates from all pods until `until`: the last round begins then or later. For programs
// that have nothing else to do. Returns: the last round. Errors: those of listing pods; kCancelled.
kube::Async<UngateRound> UngateLatePods(kube::Client& client, kube::Clock& clock,
                                        kube::TimePoint until);

struct LatePodsTiming {
  std::chrono::milliseconds stored_late{kStoredLate};
  // How long pods with the local gate are left to their shards, whose teardown may have just begun.
  std::chrono::milliseconds drain{30'000};
  std::chrono::milliseconds poll{kLatePoll};
};

class LatePods {
 public:
  // The references outlive this.
  LatePods(kube::Client& client, kube::Clock& clock, LatePodsTiming timing = {})
      : client_(client), clock_(clock), timing_(timing) {}

  // At most one step of a round over the pods (UngateStep). The first call after Forget() begins.
  // Returns: After() while it has to be called again; Done() when the API servers have stored all
  // pods, or there is a config that is not being deleted. `log`: Request::log. Errors: the API
  // server's; call again.
  kube::Async<kube::Outcome> Look(std::string log);
  // Pods may be gated again.
  void Forget();

 private:
  // The cache may not have a new config yet, whose controller places the pods.
  kube::Async<bool> IsWanted();

  kube::Client& client_;
  kube::Clock& clock_;
  LatePodsTiming timing_;
  // When the first call was.
  std::optional<kube::TimePoint> since_;
  bool complete_ = false;
  // The current round, and when it began; when the next one is due.
  UngateRound round_;
  kube::TimePoint round_began_;
  kube::TimePoint next_round_;
};

}  // namespace operator_
