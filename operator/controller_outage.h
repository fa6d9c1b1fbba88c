// SPDX-License-Identifier: Apache-2.0
// ControllerOutage: what happens to pods while no replica of the cluster controller is available
// (I3). After some time the webhook configuration and the policies that add the cluster gate are
// removed, so that no further pods are gated; much later the pods that are still gated are ungated
// as they are. Thread: the client's.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "operator/objects/desired_object.h"
#include "operator/objects/operand_store.h"
#include "operator/teardown/ungate.h"

namespace operator_ {

struct OutageTiming {
  // How long an outage lasts before new pods are no longer gated, and before gated pods are
  // ungated.
  std::chrono::minutes stop_gating{2};
  std::chrono::minutes ungate{10};
  // Between two rounds over the gated pods.
  std::chrono::minutes ungate_again{1};
  // The time between two observations counts as outage if they are not further apart; longer than
  // the longest backoff of a reconcile.
  std::chrono::minutes unobserved{2};
};

class ControllerOutage {
 public:
  // The references outlive this. `ns`: the operator's namespace; `gating`: what adds the cluster
  // gate.
  ControllerOutage(kube::Client& client, kube::Clock& clock, OperandStore& store, std::string ns,
                   std::vector<ObjectId> gating, OutageTiming timing);

  // To be called in every reconcile; `available`: whether the watch shows an available controller.
  // Ungates at most one step of pods (UngateStep). `log`: Request::log. Returns: true while no pod
  // may be gated. Errors: the API server's.
  kube::Async<bool> Handle(bool available, const std::string& log);
  // True if Handle() has to be called again soon.
  bool ungating() const { return !round_.new_round(); }

 private:
  // The first and the last observation of the current outage.
  struct Observed {
    kube::TimePoint first;
    kube::TimePoint last;
  };

  // How long no controller was available, as this process observed it: the times in a status are
  // those of another machine's clock.
  kube::Async<kube::Duration> Length(bool available);
  kube::Async<> UngatePods(const std::string& log);

  kube::Client& client_;
  kube::Clock& clock_;
  OperandStore& store_;
  std::string ns_;
  std::vector<ObjectId> gating_;
  OutageTiming timing_;
  std::optional<Observed> observed_;
  UngateRound round_;
  kube::TimePoint next_round_;
};

}  // namespace operator_
