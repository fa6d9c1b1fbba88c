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
    : client_(client),
      clock_(clock),
      options_(options),
      configs_(configs),
      store_(store),
      timing_(timing),
      certificate_(client, clock, options,
                   {.name = std::string(ephemeral::kWebhookName),
                    .configuration = {kube::kValidatingWebhookConfigurations, kConfiguration.name},
                    .token_key = std::string(ephemeral::kPathKey),
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
  Result<Outcome> served = co_await Serve(std::move(*config), request.log);
  if (served) co_return *served;
  if (std::optional<Problem> problem = ProblemOf(served.error())) Report(std::move(problem));
  co_return served.error();
}

Async<Outcome> WarningReconciler::Serve(api::ClusterPodPlacementConfig config,
                                        const std::string& log) {
  bool watched = store_.WatchValidating(kConfiguration.name);
  Result<> done = co_await Deploy(log);
  if (!done) co_return done.error();
  Rollout rollout = RolloutIn(store_, options_.ns, ephemeral::kWebhookName);
  Result<bool> fails = co_await Fails(rollout, watched);
  if (!fails) co_return fails.error();
  if (!watched) co_return Outcome::After(timing_.recheck);
  bool configured = store_.Get(kube::kValidatingWebhookConfigurations, kConfiguration).has_value();
  if (configured && *fails) {
    done = co_await store_.Remove(kube::kValidatingWebhookConfigurations, kConfiguration, log);
  } else if (configured || rollout.available) {
    DesiredObject configuration = WarningConfiguration(
        config, ephemeral::PathOf(certificate_.token()), certificate_.ca_bundle_pem(), options_);
    done = co_await store_.Ensure(std::move(configuration), log);
  }
  if (!done) co_return done.error();
  bool settled = rollout.complete && !certificate_.pending();
  co_return Outcome::After(settled ? timing_.resync : timing_.recheck);
}

Async<> WarningReconciler::Deploy(const std::string& log) {
  DesiredObjects objects = WarningObjects(options_);
  // The ServiceAccount before the Secret: it shows that there is something to remove.
  Result<> done = co_await store_.Ensure(std::move(objects.front()), log);
  if (done) done = co_await certificate_.Ensure(log);
  for (size_t i = 1; done && i < objects.size(); ++i)
    done = co_await store_.Ensure(std::move(objects[i]), log);
  co_return done;
}

Async<bool> WarningReconciler::Fails(const Rollout& rollout, bool watched) {
  bool unavailable = Lasts(!rollout.available, unavailable_since_);
  bool unwatched = Lasts(!watched, unwatched_since_);
  if (unavailable) {
    Result<std::optional<Problem>> problem =
        co_await FindProblemOf(client_, options_.ns, std::string(ephemeral::kWebhookName), rollout);
    if (!problem) co_return problem.error();
    if (!*problem) *problem = Problem{"NoReplicaAvailable", "no reason is known"};
    Report(std::move(*problem));
  } else if (unwatched) {
    Report(Problem{"ConfigurationNotWatched",
                   "the operator cannot watch the ValidatingWebhookConfiguration " +
                       kConfiguration.name + ": apply the operator's manifests again"});
  } else if (rollout.available && watched) {
    Report(std::nullopt);
  }
  co_return unavailable;
}

bool WarningReconciler::Lasts(bool state, std::optional<kube::TimePoint>& since) const {
  if (!state) {
    since.reset();
    return false;
  }
  kube::TimePoint now = clock_.Now();
  if (!since) since = now;
  return now >= *since + timing_.start;
}

void WarningReconciler::Report(std::optional<Problem> problem) {
  bool changed = !known_ || problem != problem_;
  known_ = true;
  problem_ = std::move(problem);
  if (changed && on_reported_) on_reported_();
}

Async<Outcome> WarningReconciler::Remove(const std::string& log) {
  unavailable_since_.reset();
  unwatched_since_.reset();
  Report(std::nullopt);
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
