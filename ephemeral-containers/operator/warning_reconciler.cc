// SPDX-License-Identifier: Apache-2.0
#include "ephemeral-containers/operator/warning_reconciler.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "ephemeral-containers/names.h"
#include "ephemeral-containers/operator/warning_objects.h"
#include "kube/types/kinds.h"
#include "operator/certificates/certificates.h"
#include "operator/objects/desired_object.h"
#include "operator/status/observe.h"

namespace operator_ {
namespace {

using kube::Async;
using kube::ObjectKey;
using kube::Outcome;
using kube::Result;
using std::chrono::milliseconds;

const ObjectKey kConfiguration{"", std::string(ephemeral::kWebhookConfigurationName)};

}  // namespace

WarningReconciler::WarningReconciler(kube::Client& client, kube::Clock& clock,
                                     const OperandOptions& options, const ConfigStore& configs,
                                     OperandStore& store, WarningTiming timing)
    : clock_(clock),
      options_(options),
      configs_(configs),
      store_(store),
      timing_(timing),
      certificate_(client, clock, options,
                   {.name = std::string(ephemeral::kWebhookName),
                    .configuration = {kube::kValidatingWebhookConfigurations, kConfiguration.name},
                    .recheck = timing.recheck}) {
  timing_.resync =
      std::min<milliseconds>(timing_.resync, CheckPeriodOf(options.certificate_validity));
}

bool WarningReconciler::Left() const {
  return store_.Get(kube::kValidatingWebhookConfigurations, kConfiguration).has_value() ||
         store_.HasAny(WarningObjects(options_));
}

Async<Outcome> WarningReconciler::Reconcile(kube::Request request) {
  std::optional<api::ClusterPodPlacementConfig> config = configs_.Cluster();
  bool wanted = config && !config->metadata().has_deletion_timestamp() &&
                config->WantsEphemeralContainerWarnings();
  if (!wanted) co_return co_await Remove(request.log);
  removal_.reset();
  co_return co_await Serve(std::move(*config), request.log);
}

Async<Outcome> WarningReconciler::Serve(api::ClusterPodPlacementConfig config,
                                        const std::string& log) {
  Result<> done = co_await certificate_.Ensure(log);
  if (!done) co_return done.error();
  DesiredObjects objects = WarningObjects(options_);
  for (DesiredObject& object : objects) {
    done = co_await store_.Ensure(std::move(object), log);
    if (!done) co_return done.error();
  }
  Rollout rollout = RolloutIn(store_, options_.ns, ephemeral::kWebhookName);
  bool configured = store_.Get(kube::kValidatingWebhookConfigurations, kConfiguration).has_value();
  if (rollout.available || configured) {
    DesiredObject configuration =
        WarningConfiguration(config, certificate_.ca_bundle_pem(), options_);
    done = co_await store_.Ensure(std::move(configuration), log);
    if (!done) co_return done.error();
  }
  bool settled = rollout.complete && !certificate_.pending();
  co_return Outcome::After(settled ? timing_.resync : timing_.recheck);
}

Async<Outcome> WarningReconciler::Remove(const std::string& log) {
  if (!Left()) {
    bool removed = std::exchange(removal_, std::nullopt).has_value();
    if (removed && on_removed_) on_removed_();
    co_return Outcome::Done();
  }
  // The watch will show shortly that the objects are gone.
  if (removal_ && std::exchange(removal_->done, false)) co_return Outcome::After(timing_.recheck);
  if (!removal_) {
    Result<> removed =
        co_await store_.Remove(kube::kValidatingWebhookConfigurations, kConfiguration, log);
    if (!removed) co_return removed.error();
    removal_ = Removal{.since = clock_.Now()};
    certificate_.Forget();
    LOG(INFO) << log << " removing the webhook of ephemeral containers";
  }
  kube::TimePoint now = clock_.Now();
  if (now < removal_->since + timing_.settle) {
    auto rest = std::chrono::duration_cast<milliseconds>(removal_->since + timing_.settle - now);
    co_return Outcome::After(std::max(milliseconds(1), rest));
  }
  // The ServiceAccount last: it shows that the removal is not complete.
  std::vector<ObjectId> objects = InOrderOfRemoval(WarningObjects(options_));
  objects.insert(objects.begin(),
                 {kube::kSecrets, {options_.ns, std::string(ephemeral::kWebhookName)}});
  for (const ObjectId& object : objects) {
    Result<> removed = co_await store_.Remove(object.resource, object.key, log);
    if (!removed) co_return removed.error();
  }
  removal_->done = true;
  co_return Outcome::After(timing_.recheck);
}

}  // namespace operator_
