// SPDX-License-Identifier: Apache-2.0
// WarningReconciler: deploys the webhook of ephemeral containers while the plugin is enabled, and
// configures the API server once a replica is available, and until none has been for a while.
// Otherwise everything is removed, the configuration first. There is one request.
//
// The path in the configuration is secret: it has the token of the Secret (kPathKey), which stays
// the same when the certificate is renewed. Whoever deletes it, or the Secret, gets another path.
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
#include "operator/status/problem.h"
#include "operator/status/rollout.h"

namespace operator_ {

struct WarningTiming {
  std::chrono::milliseconds recheck{10'000};
  std::chrono::milliseconds resync{3'600'000};
  // API servers may call the webhook for a moment after its configuration was deleted.
  std::chrono::milliseconds settle{2'000};
  // Without a replica for this time, the webhook is reported and not configured: where a network
  // loses the calls, each would wait for kTimeout. If the configuration cannot be watched for this
  // time, that is reported.
  std::chrono::milliseconds start{120'000};
};

class WarningReconciler final : public kube::Reconciler {
 public:
  // The references outlive this.
  WarningReconciler(kube::Client& client, kube::Clock& clock, const OperandOptions& options,
                    const ConfigStore& configs, OperandStore& store, WarningTiming timing = {});

  // Called when everything has been removed. Before the first Reconcile().
  void OnRemoved(std::function<void()> listener) { on_removed_ = std::move(listener); }
  // Called when problem() has changed, or is known. Before the first Reconcile().
  void OnReported(std::function<void()> listener) { on_reported_ = std::move(listener); }
  // Whether problem() is known.
  bool known() const { return known_; }
  // Why the wanted webhook does not run or is not called; nullopt if it is, or is not wanted.
  const std::optional<Problem>& problem() const { return problem_; }
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
  // The ServiceAccount, the certificate and the Deployment with all that belongs to it.
  kube::Async<> Deploy(const std::string& log);
  // Whether no replica has been available for WarningTiming::start. That is reported, and also if
  // the configuration could not be watched for this time.
  kube::Async<bool> Fails(const Rollout& rollout, bool watched);
  // Whether `state` has lasted for WarningTiming::start. `since`: when it began.
  bool Lasts(bool state, std::optional<kube::TimePoint>& since) const;
  void Report(std::optional<Problem> problem);
  kube::Async<kube::Outcome> Remove(const std::string& log);

  kube::Client& client_;
  kube::Clock& clock_;
  const OperandOptions& options_;
  const ConfigStore& configs_;
  OperandStore& store_;
  WarningTiming timing_;
  OperandCertificate certificate_;
  std::function<void()> on_removed_;
  std::function<void()> on_reported_;
  std::optional<Removal> removal_;
  bool known_ = false;
  std::optional<Problem> problem_;
  std::optional<kube::TimePoint> unavailable_since_;
  std::optional<kube::TimePoint> unwatched_since_;
};

}  // namespace operator_
