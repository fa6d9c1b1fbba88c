// SPDX-License-Identifier: Apache-2.0
// Ungating: the pods that a removal waits for, round after round (see gates.h), and the end of the
// waiting. Thread: the client's.
#pragma once

#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/controller/event_recorder.h"
#include "operator/teardown/ungate.h"

namespace operator_ {

class Ungating {
 public:
  // Goes on with a round as UngateStep() does. `choose` counts when it begins one; `removes`:
  // whether it removes gates from all pods, so that the round is one more try for each of them.
  kube::Async<bool> Step(kube::Client& client, kube::Clock& clock, std::string ns,
                         ChooseGates choose, bool removes);

  // The last complete round.
  const UngateRound& last() const { return last_; }
  // Complete rounds that removed gates from all pods.
  int tries() const { return tries_; }
  // What is waited for, for a status: one line.
  std::string Describe() const;
  // Logs the pods that the last round left with their gates, and tells the first of them by event.
  void ReportLeft(kube::EventRecorder& events) const;

 private:
  UngateRound round_;
  ChooseGates choose_;
  bool removes_ = false;
  UngateRound last_;
  int tries_ = 0;
};

}  // namespace operator_
