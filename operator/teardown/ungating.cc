// SPDX-License-Identifier: Apache-2.0
#include "operator/teardown/ungating.h"

#include <glog/logging.h>

#include <utility>

#include "api/names.h"

namespace operator_ {

using kube::Async;
using kube::Result;

Async<bool> Ungating::Step(kube::Client& client, kube::Clock& clock, std::string ns,
                           ChooseGates choose, bool removes) {
  if (round_.new_round()) {
    round_ = UngateRound();
    choose_ = std::move(choose);
    removes_ = removes;
  }
  ChooseGates chosen = choose_;
  Result<bool> complete =
      co_await UngateStep(client, clock, std::move(ns), std::move(chosen), round_);
  if (!complete) co_return complete.error();
  if (!*complete) co_return false;
  last_ = std::exchange(round_, UngateRound());
  if (removes_) ++tries_;
  co_return true;
}

std::string Ungating::Describe() const {
  std::string failures = DescribeFailures(last_);
  if (!failures.empty()) return failures;
  size_t left = last_.gated - last_.ungated;
  if (left == 0) return "looking for pods with a scheduling gate";
  return std::to_string(left) + " pods still have a scheduling gate";
}

void Ungating::ReportLeft(kube::EventRecorder& events) const {
  LOG(WARNING) << "goes on without waiting for pods that still have a scheduling gate: "
               << Describe();
  std::string why = last_.error ? last_.error->message() : "";
  for (const kube::core::ObjectReference& pod : last_.failed_pods) {
    events.Record(pod, /*warning=*/true, api::kReasonGateRemovalFailed,
                  "The scheduling gate could not be removed: " + why);
  }
}

}  // namespace operator_
