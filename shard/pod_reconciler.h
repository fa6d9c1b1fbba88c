// SPDX-License-Identifier: Apache-2.0
// PodReconciler: gives a gated pod of the shard's namespace the preferences of its
// PodPlacementConfigs, and drops the local gate, in one write. What is decided is placement/'s;
// this is the reading, the writing and the trying again.
#pragma once

#include "kube/base/clock.h"
#include "kube/cache/reader.h"
#include "kube/client/client.h"
#include "kube/controller/event_limiter.h"
#include "kube/controller/event_recorder.h"
#include "kube/controller/reconciler.h"
#include "kube/types/core.pb.h"
#include "shard/metrics.h"
#include "shard/rights.h"
#include "watches/fresh_configs.h"

namespace shard {

class PodReconciler final : public kube::Reconciler {
 public:
  struct Dependencies {
    kube::Client& client;
    kube::Clock& clock;
    // The gated pods, without status and managed fields: a PUT of a pod ignores the one and keeps
    // the other.
    const kube::PodReader& pods;
    watches::FreshConfigs& configs;
    kube::EventRecorder& events;
    Rights& rights;
    ShardMetrics& metrics;
  };

  explicit PodReconciler(Dependencies dependencies)
      : deps_(std::move(dependencies)), limiter_(deps_.clock) {}

  kube::Async<kube::Outcome> Reconcile(kube::Request request) override;

 private:
  // Decides and writes; on a conflict again, from the newest pod, which `pod` then is.
  kube::Async<> Release(kube::core::Pod& pod);
  // The pod as it is now. kNotFound if it is gone.
  kube::Async<kube::core::Pod> ReadLive(const kube::core::Pod& pod);
  void RecordFailure(const kube::core::Pod& pod, const kube::Error& error);

  Dependencies deps_;
  kube::EventLimiter limiter_;
};

}  // namespace shard
