// SPDX-License-Identifier: Apache-2.0
// ClusterReconciler: brings the operator's namespace to what the ClusterPodPlacementConfig says.
// There is one request,
// {"", "cluster"}.
//
// With the config: certificate, controller, webhook; and once both run, the webhook configuration.
// It is taken back while no controller has run for a while, so that new pods do not queue up behind
// a controller that is not coming; pods that waited for much longer are let go as they are (I3).
// Config being deleted: nothing is removed while there are PodPlacementConfigs. Then the webhook
// configuration goes, the controller drains what waits, the rest is ungated here; the operands go,
// and at last the finalizers. The same order holds if somebody took the finalizers off and the
// config is gone already. Pods whose write is refused, or that somebody keeps creating with the
// gate, do not hold up the removal for ever: they are tried for some time, while the status names
// them, and then left with a log line and events.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/controller/event_recorder.h"
#include "kube/controller/reconciler.h"
#include "operator/config_store.h"
#include "operator/named_objects.h"
#include "operator/objects/operand_store.h"
#include "operator/objects/options.h"
#include "operator/status/cluster_status.h"
#include "operator/teardown/ungate.h"
#include "operator/teardown/ungating.h"

namespace operator_ {

struct ClusterTiming {
  // API servers may call a webhook for a moment after its configuration is gone: pods are looked
  // for that long.
  std::chrono::milliseconds settle{2'000};
  // How long a controller that runs may take to drain the pods before they are ungated here.
  std::chrono::milliseconds drain{30'000};
  // How long after that the removal waits for pods that are still gated, and how often each is
  // tried at least.
  std::chrono::milliseconds give_up{60'000};
  int tries = 3;
  // Between two looks at pods that still wait.
  std::chrono::milliseconds poll{1'000};
  // Between two looks at operands that do not run.
  std::chrono::milliseconds recheck{10'000};
  std::chrono::milliseconds resync{3'600'000};
  // How long no controller has run before new pods are not gated any more, and before those that
  // wait are ungated.
  std::chrono::minutes stop_gating{2};
  std::chrono::minutes release{10};
  // Between two rounds over these.
  std::chrono::minutes release_again{1};
  // Time counts as seen between two looks that are no farther apart; longer than the longest
  // backoff of a reconcile.
  std::chrono::minutes unseen{2};
};

class ClusterReconciler final : public kube::Reconciler {
 public:
  // Everything but `options` and `timing` is used while this lives.
  ClusterReconciler(kube::Client& client, kube::Clock& clock, OperandOptions options,
                    const ConfigStore& configs, OperandStore& store, kube::EventRecorder& events,
                    ClusterTiming timing = {});

  // Reconciler
  kube::Async<kube::Outcome> Reconcile(kube::Request request) override;

 private:
  using Config = api::ClusterPodPlacementConfig;

  kube::Async<kube::Outcome> Provision(Config config, std::string deprovisioning);
  kube::Async<> ApplyOperands(const Config& config, ClusterView& view);
  // How long no controller has run, as seen by this process: the times in a status are of another
  // machine's clock.
  kube::Async<kube::Duration> ControllerDownFor(bool available);
  // The controller's right to follow the Secret, if there is a name.
  kube::Async<> ApplyGlobalPullSecret(std::string secret);
  // Ends what a controller that has not run for long would make worse; true if pods must not be
  // gated now.
  kube::Async<bool> StopGating(const Rollout& controller);
  kube::Async<kube::Outcome> Delete(Config config);
  // Takes everything away, in order. Done() when nothing is left, After() while something is waited
  // for. Returns: what is waited for, "" for nothing.
  kube::Async<std::string> Deprovision();
  // Ungates pods that waited too long for a controller that does not run: a step of it, once in a
  // while.
  kube::Async<> ReleasePods();
  // Deletes what another operator made under the names of the cluster's operands; true if there was
  // something.
  kube::Async<bool> RemoveForeignOperands();
  kube::Async<bool> AnythingLeft();
  // Objects that cannot be removed keep no other. Errors: the last of them.
  kube::Async<> RemoveObjects();
  kube::Async<> WriteClusterStatus(Config config, ClusterView view);
  Rollout RolloutOfOperand(std::string_view deployment) const;
  Rollout RolloutIn(const std::string& ns, std::string_view deployment) const;

  kube::Client& client_;
  kube::Clock& clock_;
  OperandOptions options_;
  const ConfigStore& configs_;
  OperandStore& store_;
  kube::EventRecorder& events_;
  ClusterTiming timing_;
  // The webhook's certificate follows when the API server trusts its authority (see
  // certificates.h).
  bool certificate_pending_ = false;
  // The first and the last look at a controller that did not run, while there was none at one that
  // did.
  struct Down {
    kube::TimePoint since;
    kube::TimePoint last_look;
  };
  std::optional<Down> controller_down_;
  UngateRound release_round_;
  kube::TimePoint next_release_;
  // While the operands are being taken away: since when the webhook configuration is gone, and the
  // pods that still wait.
  struct Removal {
    kube::TimePoint since;
    Ungating ungating;
  };
  std::optional<Removal> removal_;
  NamedObjects named_objects_;
};

}  // namespace operator_
