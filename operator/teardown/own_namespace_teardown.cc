// SPDX-License-Identifier: Apache-2.0
#include "operator/teardown/own_namespace_teardown.h"

#include <glog/logging.h>

#include <utility>
#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "api/names.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"
#include "operator/objects/metadata.h"
#include "operator/teardown/finalizers.h"
#include "operator/teardown/ungate.h"

namespace operator_ {

using kube::Async;
using kube::ObjectKey;
using kube::Ok;
using kube::Result;
using kube::Unstructured;
using kube::core::Pod;

OwnNamespaceTeardown::OwnNamespaceTeardown(kube::Client& client, kube::Clock& clock, std::string ns,
                                           OwnNamespaceTeardownTiming timing)
    : client_(client),
      clock_(clock),
      ns_(std::move(ns)),
      timing_(timing),
      namespace_(client, clock,
                 {.field_selector = "metadata.name=" + ns_,
                  .resource = kube::kNamespaces,
                  .backoff = {.cap = timing.watch_again}}) {
  namespace_.OnEvent([this](kube::EventType, const Unstructured& object) {
    if (object.metadata().has_deletion_timestamp()) Due();
  });
}

void OwnNamespaceTeardown::Due() {
  if (due_) return;
  LOG(WARNING) << "the operator's namespace is being deleted: all pods are ungated";
  due_ = true;
  if (on_due_) on_due_();
}

boost::asio::awaitable<void> OwnNamespaceTeardown::Watch() { return namespace_.Run(); }

boost::asio::awaitable<void> OwnNamespaceTeardown::Ask() {
  co_await kube::IgnoreCancellation();
  kube::ApiRequest request{.target = kube::kNamespaces.Path("", ns_), .timeout = timing_.ask};
  Result<kube::ApiResponse> answer = co_await client_.Call(std::move(request));
  if (IsNotFound(answer)) {
    Due();
    co_return;
  }
  Result<kube::Json> stored = kube::Error::Internal("not read");
  if (answer) stored = kube::ParseJson(answer->body);
  if (stored && !kube::StringAt(*stored, "metadata.deletionTimestamp").empty()) Due();
  LOG_IF(WARNING, !answer) << "whether the operator's namespace is being deleted is not known: "
                           << answer.error();
}

Async<> OwnNamespaceTeardown::Run(bool last) {
  co_await kube::IgnoreCancellation();
  kube::TimePoint begin = clock_.Now();
  kube::TimePoint stopped = begin;
  bool cancelled = last;
  while (true) {
    kube::TimePoint pass_began = clock_.Now();
    Result<Found> found = co_await Pass(cancelled || pass_began >= begin + timing_.drain);
    if (cancelled) {
      if (!found) co_return found.error();
      co_return Ok();
    }
    LOG_IF(WARNING, !found) << "teardown: " << found.error();
    if (!found || found->gating) stopped = clock_.Now();
    if (found && !found->pods && pass_began >= stopped + timing_.stored_late) break;
    if (clock_.Now() >= begin + timing_.give_up) {
      LOG(WARNING) << "teardown took too long, some pods may still have a scheduling gate";
      co_return Ok();
    }
    bool soon = clock_.Now() < begin + timing_.soon;
    kube::Duration next = soon ? timing_.poll : timing_.late_poll;
    Result<> slept = co_await clock_.Sleep(next);
    if (slept) continue;
    cancelled = true;
    co_await kube::ForgetCancellation();
  }
  LOG(INFO) << "teardown is complete: no pod is gated";
  co_return Ok();
}

Async<OwnNamespaceTeardown::Found> OwnNamespaceTeardown::Pass(bool ungate) {
  Result<bool> configured = co_await StopGating();
  Result<> finalizers = co_await RemoveClusterConfigFinalizers();
  Result<bool> gated = co_await UngatePods(ungate);
  if (!gated) co_return gated.error();
  if (!configured) co_return configured.error();
  if (!finalizers) co_return finalizers.error();
  co_return Found{.gating = *configured, .pods = *gated};
}

Async<bool> OwnNamespaceTeardown::UngatePods(bool ungate) {
  const std::string log = "teardown:";
  UngateRound round;
  bool complete = false;
  while (!complete) {
    ChooseGates choose = [ungate](const Pod& pod) {
      std::optional<std::vector<std::string>> gates = BothGates(pod);
      if (gates && !ungate) gates->clear();
      return gates;
    };
    std::string everywhere;
    Result<bool> step =
        co_await UngateStep(client_, clock_, std::move(everywhere), std::move(choose), round, log);
    if (!step) co_return step.error();
    complete = *step;
  }
  std::string failures = DescribeFailures(round);
  LOG_IF(WARNING, !failures.empty()) << "teardown: " << failures;
  co_return !round.found_none();
}

Async<bool> OwnNamespaceTeardown::StopGating() {
  bool any = false;
  Result<> all = Ok();
  for (const kube::Resource& resource :
       {kube::kMutatingWebhookConfigurations, kube::kMutatingAdmissionPolicyBindings,
        kube::kMutatingAdmissionPolicies}) {
    Result<bool> removed = co_await RemoveAll(resource);
    if (!removed) all = removed.error();
    any = any || (removed && *removed);
  }
  if (!all) co_return all.error();
  co_return any;
}

Async<bool> OwnNamespaceTeardown::RemoveAll(kube::Resource resource) {
  kube::ListOptions ours{.label_selector = std::string(kManagedBySelector)};
  Result<kube::TypedList<Unstructured>> found =
      co_await kube::ListObjects(client_, resource, std::move(ours));
  if (IsNotFound(found)) co_return false;
  if (!found) co_return found.error();
  Result<bool> any = !found->items.empty();
  for (const Unstructured& object : found->items) {
    ObjectKey key = kube::KeyOf(object);
    Result<> deleted = co_await kube::DeleteObject(client_, resource, std::move(key));
    if (!deleted && !IsNotFound(deleted)) any = deleted.error();
  }
  co_return any;
}

Async<> OwnNamespaceTeardown::RemoveClusterConfigFinalizers() {
  ObjectKey key{"", std::string(api::kClusterConfigName)};
  Result<Unstructured> config = co_await kube::GetObject(
      client_, kube::ResourceOf<api::ClusterPodPlacementConfig>::value, std::move(key));
  if (IsNotFound(config)) co_return Ok();
  if (!config) co_return config.error();
  co_return co_await RemoveFinalizers(client_, config->metadata());
}

}  // namespace operator_
