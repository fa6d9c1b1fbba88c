// SPDX-License-Identifier: Apache-2.0
// ShardReconciler: brings one namespace to what its PodPlacementConfigs say. A request's key is
// {"", NAMESPACE}.
//
// With a PodPlacementConfig, and a ClusterPodPlacementConfig that selects the namespace:
// certificate, permissions, controller, webhook; and once both run, the webhook configuration, so
// that no pod waits for a shard that never came up. Without: the webhook configuration goes first,
// so that no pod is gated any more; then the shard may drain the pods that are; those that it
// leaves behind are ungated here; then the rest goes, the authority last, as it is the sign that
// something is left. Nothing of that hangs on what an operator remembers: another one takes over at
// any point. A namespace that is being deleted, or has gone, is such a namespace too; nothing of
// ours holds it up. Nor does a pod hold up the removal for ever: pods whose write is refused, or
// that somebody keeps creating with the gate, are left after some time to the cluster's controller,
// with a log line and events.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/controller/event_recorder.h"
#include "kube/controller/reconciler.h"
#include "operator/config_store.h"
#include "operator/namespaces.h"
#include "operator/objects/operand_store.h"
#include "operator/objects/options.h"
#include "operator/status/shard_status.h"
#include "operator/teardown/ungating.h"

namespace operator_ {

struct ShardTiming {
  // API servers may call a webhook for a moment after its configuration is gone: pods are looked
  // for that long.
  std::chrono::milliseconds settle{2'000};
  // How long a shard that runs may take to drain its pods before they are ungated here.
  std::chrono::milliseconds drain{10'000};
  // How long after that the removal waits for pods that are still gated, and how often each is
  // tried at least.
  std::chrono::milliseconds give_up{60'000};
  int tries = 3;
  // Between two looks at pods that still wait.
  std::chrono::milliseconds poll{1'000};
  // Between two looks at a shard that does not run; its Deployments' changes are seen at once.
  std::chrono::milliseconds recheck{10'000};
  // Between two looks at a shard that runs, for its certificate.
  std::chrono::milliseconds resync{3'600'000};
};

class ShardReconciler final : public kube::Reconciler {
 public:
  // Everything but `options` and `timing` is used while this lives.
  ShardReconciler(kube::Client& client, kube::Clock& clock, OperandOptions options,
                  const ConfigStore& configs, const Namespaces& namespaces, OperandStore& store,
                  kube::EventRecorder& events, ShardTiming timing = {});

  // Reconciler
  kube::Async<kube::Outcome> Reconcile(kube::Request request) override;

 private:
  // Of a namespace's shard.
  struct Removal {
    kube::TimePoint since;
    bool webhook_gone = false;
    Ungating ungating;
    // What is waited for.
    std::string waits;
  };
  struct Bundle {
    std::string ca_pem;
    kube::TimePoint checked;
    // The webhook's certificate follows when the API server trusts this (see certificates.h).
    bool pending = false;
  };
  using ConfigList = std::vector<api::PodPlacementConfig>;

  kube::Async<kube::Outcome> Provision(std::string ns, ConfigList configs,
                                       std::string log_verbosity);
  kube::Async<kube::Outcome> Deprovision(std::string ns);
  // Brings the objects of `ns` to what they shall be; `view` says how far they are, also after an
  // error.
  kube::Async<> ApplyShard(const std::string& ns, const ConfigList& configs,
                           const std::string& log_verbosity, ShardView& view);
  // What API servers shall trust in `ns`. Looks into the Secrets once in `resync`, or now if
  // `look`.
  kube::Async<std::string> CaBundle(std::string ns, bool look);
  kube::Async<bool> AnythingLeft(std::string ns);
  // Objects that cannot be removed keep no other. Errors: the last of them.
  kube::Async<> RemoveObjects(std::string ns);
  kube::Async<> WriteStatuses(ConfigList configs, ShardView view);
  Rollout RolloutIn(const std::string& ns, std::string_view deployment) const;

  kube::Client& client_;
  kube::Clock& clock_;
  OperandOptions options_;
  const ConfigStore& configs_;
  const Namespaces& namespaces_;
  OperandStore& store_;
  kube::EventRecorder& events_;
  ShardTiming timing_;
  std::map<std::string, Removal> removals_;  // by namespace
  std::map<std::string, Bundle> bundles_;    // by namespace
};

}  // namespace operator_
