// SPDX-License-Identifier: Apache-2.0
// AdmissionLoad: calls each webhook in a loop, and reports whether a call failed.
#pragma once

#include <map>
#include <string>

#include "e2e/framework/flow.h"

namespace e2e {

class AdmissionLoad {
 public:
  // The scene has one PodPlacementConfig, "only", which selects all pods, and no pods yet.
  explicit AdmissionLoad(Scene& scene) : scene_(scene), failed_before_(FailedCalls()) {}

  // One write or read for each webhook: of the cluster and of the namespace, validating,
  // converting. Errors: those of the calls.
  kube::Result<> CallEachWebhook();
  // No call has failed, by the API server's own count, and each pod was created with both gates.
  // To be called when all pods are ungated. Errors: what failed.
  kube::Result<> CheckCalls();
  int pods() const { return pods_; }

 private:
  // The calls of the operator's webhooks that failed, by metric: ignored ones, refusals without the
  // webhook's answer, and failed conversions.
  std::map<std::string, double> FailedCalls();

  Scene& scene_;
  int pods_ = 0;
  std::map<std::string, double> failed_before_;
};

}  // namespace e2e
