// SPDX-License-Identifier: Apache-2.0
// CountingObserver: counts the reconciles of a controller, for tests that wait for one.
#pragma once

#include "kube/controller/controller.h"

namespace kube {

struct CountingObserver final : ControllerObserver {
  void OnDepth(size_t) override {}
  void OnAdded() override {}
  void OnRetried() override {}
  void OnTaken(TimePoint, TimePoint) override {}
  void OnDone(TimePoint, TimePoint) override {}
  void OnActiveWorkers(int) override {}
  void OnReconciled(Ending, bool, Duration) override { ++reconciles; }

  int reconciles = 0;
};

}  // namespace kube
