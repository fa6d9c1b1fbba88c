// SPDX-License-Identifier: Apache-2.0
// WarningReconciler: deploys the webhook of ephemeral containers while the plugin is enabled, and
// configures the API server once a replica is available. Otherwise everything is removed, the
// configuration first. There is one request.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "api/cluster_pod_placement_config.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/controller/reconciler.h"
#include "operator/certificates/operand_certificate.h"
#include "operator/config_store.h"
#include "operator/objects/operand_store.h"
#include "operator/objects/options.h"

namespace operator_ {

struct WarningTiming {
  std::chrono::milliseconds recheck{10'000};
  std::chrono::milliseconds resync{3'600'000};
  // API servers may call the webhook for a moment after its configuration was deleted.
  std::chrono::milliseconds settle{2'000};
};

class WarningReconciler final : public kube::Reconciler {
 public:
  // The references outlive this.
  WarningReconciler(kube::Client& client, kube::Clock& clock, const OperandOptions& options,
                    const ConfigStore& configs, OperandStore& store, WarningTiming timing = {});

  // Called when everything has been removed. Before the first Reconcile().
  void OnRemoved(std::function<void()> listener) { on_removed_ = std::move(listener); }
  // Whether an object of the webhook is left.
  bool Left() const;

  // Reconciler
  kube::Async<kube::Outcome> Reconcile(kube::Request request) override;

 private:
  struct Removal {
    // When the configuration was deleted.
    kube::TimePoint since;
    bool done = false;
  };

  kube::Async<kube::Outcome> Serve(api::ClusterPodPlacementConfig config, const std::string& log);
  kube::Async<kube::Outcome> Remove(const std::string& log);

  kube::Clock& clock_;
  const OperandOptions& options_;
  const ConfigStore& configs_;
  OperandStore& store_;
  WarningTiming timing_;
  OperandCertificate certificate_;
  std::function<void()> on_removed_;
  std::optional<Removal> removal_;
};

}  // namespace operator_
