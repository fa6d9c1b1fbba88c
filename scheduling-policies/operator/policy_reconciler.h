// SPDX-License-Identifier: Apache-2.0
// PolicyReconciler: deploys the webhook of scheduling policies, configures the API server, and
// writes the status of the policies. There is one request.
//
// While the plugin is enabled and a policy can select a pod: certificate and operand; the webhook
// configuration once a replica is available; then a policy is in force, for its current generation,
// when
//
//   1. the API server uses a configuration that covers it (configuration_probe.h), and
//   2. a live list of the replicas, made after the generation was seen, shows that all have it.
//
// It stays in force until its generation changes, even if replicas come and go: a new replica has
// it, and every later configuration covers it. Otherwise everything is removed, the configuration
// first. The statuses are written last, and a policy that cannot be written delays no other.
//
// What tenants can change costs bounded work: the configuration changes at most every two seconds,
// and one reconcile writes a bounded number of statuses, of all namespaces in turn.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "api/operands.h"
#include "api/scheduling_policies.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/controller/reconciler.h"
#include "operator/certificates/operand_certificate.h"
#include "operator/objects/desired_object.h"
#include "operator/objects/operand_store.h"
#include "operator/objects/options.h"
#include "operator/status/rollout.h"
#include "scheduling-policies/operator/policy_coverage.h"
#include "scheduling-policies/operator/policy_objects.h"
#include "scheduling-policies/operator/policy_status.h"
#include "scheduling-policies/operator/policy_store.h"
#include "scheduling-policies/operator/replicas.h"

namespace operator_ {

struct PolicyTiming {
  // The delays between checks of replicas and configuration while policies wait: the first one, and
  // the longest; a delay is a quarter of the time that they have waited.
  std::chrono::milliseconds propagation{200};
  std::chrono::milliseconds slow_propagation{5'000};
  // Between two changes of the webhook configuration.
  std::chrono::milliseconds configuration{2'000};
  // The cause of an unavailable webhook is looked for after this time.
  std::chrono::milliseconds start{5'000};
  std::chrono::milliseconds recheck{10'000};
  std::chrono::milliseconds certificate_check{60'000};
  std::chrono::milliseconds resync{3'600'000};
  // API servers may call the webhook for a moment after its configuration was deleted.
  std::chrono::milliseconds settle{2'000};
  // How long the replicas may take to end and to delete their Leases.
  std::chrono::milliseconds termination{35'000};
  // Statuses that one reconcile writes.
  int writes = 64;
};

class PolicyReconciler final : public kube::Reconciler {
 public:
  // The plugin with the settings of its operand.
  struct PluginSpec {
    api::SchedulingPolicies plugin;
    std::optional<api::OperandSettings> operand;
  };
  // The enabled plugin of a ClusterPodPlacementConfig that is not being deleted, or nullopt.
  using Plugin = std::function<std::optional<PluginSpec>()>;

  // The references outlive this.
  PolicyReconciler(kube::Client& client, kube::Clock& clock, OperandOptions options, Plugin plugin,
                   PolicyStore& policies, OperandStore& store, PolicyTiming timing = {});

  // Called when everything has been removed. Before the first Reconcile().
  void OnRemoved(std::function<void()> listener) { on_removed_ = std::move(listener); }

  // Reconciler
  kube::Async<kube::Outcome> Reconcile(kube::Request request) override;

 private:
  struct Removal {
    // When the configuration was deleted, and the Deployment.
    kube::TimePoint since;
    std::optional<kube::TimePoint> deployment;
    bool done = false;
  };

  // Brings everything to what `spec` asks for. Sets `serving`, also when it fails. `log`, here
  // and below: Request::log.
  kube::Async<kube::Outcome> Serve(PluginSpec spec, PolicyServing& serving, const std::string& log);
  // Applies the PolicyObjects(), and issues the certificate.
  kube::Async<> Deploy(DesiredObjects objects, const std::string& log);
  // Applies the configuration, unless it has just changed.
  kube::Async<> Configure(const api::SchedulingPolicies& plugin, const std::string& log);
  kube::Async<> Probe(const std::string& log);
  // Reads the replicas if necessary, and sets policies in force.
  kube::Async<> Acknowledge(const Rollout& rollout, const std::string& log);
  bool Covers(const kube::ObjectKey& policy, const PolicyStore::Entry& entry) const;
  kube::Async<> FindCause(const Rollout& rollout, PolicyServing& serving);
  kube::Outcome NextLook(const Rollout& rollout) const;

  kube::Async<kube::Outcome> Remove(const std::string& log);
  kube::Async<> RemoveRest(const std::string& log);
  // The API server calls no webhook any more.
  void Forget();

  // Returns: whether all that were due are written.
  kube::Async<bool> WriteStatuses(const PolicyServing& serving, const std::string& log);
  // Returns: whether a write was needed. Errors: the API server's, unless it refuses this write
  // alone.
  kube::Async<bool> WriteStatusOf(kube::ObjectKey policy, const PolicyServing& serving,
                                  const std::string& log);

  kube::Client& client_;
  kube::Clock& clock_;
  OperandOptions options_;
  Plugin plugin_;
  PolicyStore& policies_;
  OperandStore& store_;
  PolicyTiming timing_;
  OperandCertificate certificate_;
  std::function<void()> on_removed_;
  Replicas replicas_;

  // The configuration that was applied, and the last one that the API server is known to use.
  std::string applied_hash_;
  PolicyCoverage applied_coverage_;
  kube::TimePoint applied_at_;
  bool configuration_held_ = false;
  bool configuration_seen_ = false;
  std::string proven_hash_;
  std::string probe_error_;

  // How many replicas were ready when their Leases were read.
  size_t ready_ = 0;
  // Since when policies wait without another change, and PolicyStore::changes() then.
  std::optional<kube::TimePoint> waiting_since_;
  uint64_t waiting_changes_ = 0;
  // Since when the webhook is not available.
  std::optional<kube::TimePoint> unavailable_since_;
  std::optional<Removal> removal_;
  // As of the last statuses.
  PolicyServing written_;
};

}  // namespace operator_
