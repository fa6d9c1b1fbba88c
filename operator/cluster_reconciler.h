// SPDX-License-Identifier: Apache-2.0
// ClusterReconciler: brings the operands in the operator's namespace to what the
// ClusterPodPlacementConfig asks for. There is one request, {"", "cluster"}.
//
// With the config: certificate, controller, webhook; the webhook configuration once both are
// available, so that no pod is gated before, or policies in place of both (gating/). A long outage
// of the controller is handled by controller_outage.h. A config that is being deleted: nothing is
// removed while PodPlacementConfigs exist; then the operands are torn down (teardown/teardown.h).
// When nothing of the features (feature.h) is left either, the finalizers are removed, and pods
// that are stored late are ungated (teardown/late_pods.h). The teardown is the same if a user
// removed the finalizers and the config is already deleted.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/controller/event_recorder.h"
#include "kube/controller/reconciler.h"
#include "operator/certificates/certificates.h"
#include "operator/certificates/provider.h"
#include "operator/config_store.h"
#include "operator/controller_outage.h"
#include "operator/gating/gating_policy_prober.h"
#include "operator/gating/scope_gating.h"
#include "operator/known_images.h"
#include "operator/named_objects.h"
#include "operator/objects/desired_object.h"
#include "operator/objects/operand_store.h"
#include "operator/objects/options.h"
#include "operator/pacer.h"
#include "operator/probes/webhook_prober.h"
#include "operator/status/cluster_status.h"
#include "operator/status/feature_condition.h"
#include "operator/status/observe.h"
#include "operator/teardown/late_pods.h"
#include "operator/teardown/teardown.h"
#include "operator/upgrade_queue.h"

namespace operator_ {

// How often the webhook configuration of the cluster is written, for any reason: API servers read
// and compile it each time. The review of a namespace's first PodPlacementConfig waits two seconds
// for such a write (webhooks/preference_gate.h).
inline constexpr PacerOptions kGatingWrites{
    .settle = std::chrono::milliseconds(0), .burst = 10, .period = std::chrono::seconds(1)};

struct ClusterTiming {
  TeardownTiming teardown{.drain = std::chrono::seconds(30)};
  LatePodsTiming late_pods;
  OutageTiming outage;
  // The time between two reconciles while something is not rolled out, or not watched.
  std::chrono::milliseconds recheck{10'000};
  std::chrono::milliseconds resync{3'600'000};
  // The same while a provider renews the certificates.
  std::chrono::milliseconds provider_check{300'000};
};

class ClusterReconciler final : public kube::Reconciler {
 public:
  struct OfFeatures {
    // What is left of them, as FeatureTerm::Remains(); "" if nothing.
    std::function<std::string()> remains;
    // As FeatureTerm::Conditions().
    std::function<std::vector<FeatureCondition>()> conditions;
  };

  // The references outlive this. `known_images` may be null.
  ClusterReconciler(kube::Client& client, kube::Clock& clock, OperandOptions options,
                    const ConfigStore& configs, OperandStore& store, GatingPolicyProber& prober,
                    WebhookProber& webhook_prober, UpgradeQueue& upgrades,
                    KnownImages* known_images, kube::EventRecorder& events, OfFeatures features,
                    ClusterTiming timing = {});

  // Reconciler
  kube::Async<kube::Outcome> Reconcile(kube::Request request) override;

 private:
  using Config = api::ClusterPodPlacementConfig;

  // `deprovisioning`: why a config that is being deleted keeps its operands, for its status.
  // `log`, here and below: Request::log.
  kube::Async<kube::Outcome> Provision(Config config, std::string deprovisioning,
                                       const std::string& log);
  kube::Async<kube::Outcome> Delete(Config config, const std::string& log);
  // Of those that exist; nullopt: none has PodPlacementConfigs.
  kube::Async<std::optional<std::string>> FirstNamespaceWithConfigs(const std::string& log);
  // `view` is valid after an error, too.
  kube::Async<> ApplyOperands(const Config& config, ClusterView& view, const std::string& log);
  // Sets the template marks of the Deployments in `objects`. Returns: whether all of them are in
  // the cluster with these templates.
  static bool MarkTemplates(DesiredObjects& objects, const OperandHealth& health);
  kube::Async<> WriteStatus(const Config& config, const ClusterView& view);
  // What can add the cluster gate. `objects`: ClusterObjects().
  GatingObjects GatingOf(const Config& config, const DesiredObjects& objects) const;
  // The images with which the policy places pods; none while the webhook may be called, too, which
  // would set the labels of a pod that its author has placed.
  KnownTable KnownImagesOf(const Config& config) const;
  // Writes and removes what gates pods, except the webhook, whose CA bundle is `ca_bundle`.
  kube::Async<> ApplyGating(const Config& config, GatingObjects objects, GatingPlan plan,
                            std::string ca_bundle, OperandHealth& health, const std::string& log);
  // Asks the provider of `config`, if it has one. `webhook`, here and below: whether the webhook
  // needs a certificate.
  kube::Async<ProviderState> AskProvider(const Config& config, bool webhook,
                                         const std::string& log);
  // Returns: the CA bundle of the webhook. Sets view.certificates. The operator's own certificates
  // are looked at again when an operand is unavailable or unreachable, one is pending, or after
  // timing_.resync.
  kube::Async<std::string> EnsureCertificates(const Config& config, const ProviderState& provider,
                                              bool webhook, ClusterView& view,
                                              const std::string& log);
  // The controller's permission to watch `secret`; without a name it is removed.
  kube::Async<> ApplyGlobalPullSecret(std::string secret, const std::string& log);
  // The controller's permissions for templates, each whether or not the others can be applied.
  // Returns: false if there is a reason to repeat it soon. Errors: kCancelled.
  kube::Async<bool> ApplyTemplateRights(const Config& config, const std::string& log);
  kube::Async<> ApplyTemplateRight(DesiredObject object, const std::string& log);
  // Deletes what another operator made under the names of the cluster's operands. Returns: whether
  // there was an object.
  kube::Async<bool> RemoveForeignOperands(const DesiredObjects& operands, const std::string& log);
  TeardownScope Scope(DesiredObjects operands, const std::string& log) const;

  kube::Client& client_;
  kube::Clock& clock_;
  OperandOptions options_;
  OperandNames names_;
  const ConfigStore& configs_;
  OperandStore& store_;
  GatingPolicyProber& prober_;
  WebhookProber& webhook_prober_;
  UpgradeQueue& upgrades_;
  KnownImages* known_images_;
  kube::EventRecorder& events_;
  OfFeatures features_;
  ClusterTiming timing_;
  CertificateProvider provider_;
  // A new serving certificate waits until the API server trusts its authority (certificates.h).
  bool certificate_pending_ = false;
  // It has replaced another one; the event about it is not recorded yet.
  bool certificate_renewed_ = false;
  // What EnsureCertificates() found: Secrets are not watched, but need not be read at each
  // reconcile.
  struct Certified {
    std::string ca_bundle_pem;
    bool webhook = false;
    kube::TimePoint due;
  };
  std::optional<Certified> certified_;
  // The webhook may place pods: all replicas have had the paths for that.
  bool places_ = false;
  ScopeGating scope_gating_;
  Pacer configuration_writes_;
  // When the next step of a switch of the gating is due, or the next write of the configuration.
  std::optional<kube::Duration> next_of_gating_;
  // The policies that add the cluster gate, whatever the config is, and the one that adds the local
  // gate, in the order of removal.
  std::vector<ObjectId> cluster_gating_policies_;
  std::vector<ObjectId> gating_policies_;  // those and the local one
  // Bindings of TemplateRights() that do not exist.
  std::set<std::string> absent_rights_;
  ControllerOutage outage_;
  Teardown teardown_;
  LatePods late_pods_;
  NamedObjects named_objects_;
};

}  // namespace operator_
