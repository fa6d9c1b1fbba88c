// SPDX-License-Identifier: Apache-2.0
// PodReconciler: adds the preferences of the namespace's PodPlacementConfigs to a gated pod and
// drops the local gate, in one write. placement/ decides; this class reads, writes and retries.
#pragma once

#include <chrono>
#include <span>
#include <string>

#include "api/names.h"
#include "api/pod_placement_config.h"
#include "kube/base/clock.h"
#include "kube/cache/reader.h"
#include "kube/client/client.h"
#include "kube/controller/event_recorder.h"
#include "kube/controller/reconciler.h"
#include "kube/controller/rights.h"
#include "kube/types/core.pb.h"
#include "placement/release.h"
#include "rules/asker.h"
#include "shard/metrics.h"
#include "watches/fresh_configs.h"
#include "writes/release_writer.h"

namespace shard {

class PodReconciler final : public kube::Reconciler {
 public:
  struct Dependencies {
    kube::Client& client;
    kube::Clock& clock;
    // The gated pods, without status and managed fields: a PUT ignores a pod's status, and keeps
    // its managed fields if the body has none.
    const kube::PodReader& pods;
    watches::FreshConfigs& configs;
    rules::Asker& rules;
    kube::EventRecorder& events;
    kube::Rights& rights;
    ShardMetrics& metrics;
  };

  explicit PodReconciler(Dependencies dependencies)
      : deps_(std::move(dependencies)),
        writer_(deps_.client, deps_.clock, deps_.events, api::kLocalGate) {}

  kube::Async<kube::Outcome> Reconcile(kube::Request request) override;

 private:
  // Decides and writes. On a conflict, or if the API server refuses the pod with tolerations, reads
  // `pod` again and starts over.
  kube::Async<kube::Outcome> Release(kube::core::Pod& pod, const std::string& log);
  struct Decision {
    placement::Release release;
    // Unless zero, nothing was decided: the rules of a config are not known yet.
    std::chrono::milliseconds wait{0};
  };
  // Changes `pod`, unless it is to be decided again. Errors: of the questions about rules.
  kube::Async<Decision> Decide(kube::core::Pod& pod,
                               std::span<const api::PodPlacementConfig> configs,
                               bool without_tolerations);

  Dependencies deps_;
  writes::ReleaseWriter writer_;
};

}  // namespace shard
