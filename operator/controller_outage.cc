// SPDX-License-Identifier: Apache-2.0
#include "operator/controller_outage.h"

#include <glog/logging.h>

#include <utility>

#include "api/names.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"
#include "operator/status/observe.h"
#include "placement/gate.h"

namespace operator_ {

using kube::Async;
using kube::Ok;
using kube::Result;
using kube::core::Pod;

ControllerOutage::ControllerOutage(kube::Client& client, kube::Clock& clock, OperandStore& store,
                                   std::string ns, std::vector<ObjectId> gating,
                                   OutageTiming timing)
    : client_(client),
      clock_(clock),
      store_(store),
      ns_(std::move(ns)),
      gating_(std::move(gating)),
      timing_(timing) {}

Async<bool> ControllerOutage::Handle(bool available, const std::string& log) {
  Result<kube::Duration> length = co_await Length(available);
  if (!length) co_return length.error();
  if (*length < timing_.stop_gating) co_return false;

  for (const ObjectId& object : gating_) {
    if (!store_.Get(object.resource, object.key)) continue;
    LOG(WARNING) << log << " no controller has been available for long: new pods are not gated";
    Result<> removed = co_await store_.Remove(object.resource, object.key, log);
    if (!removed) co_return removed.error();
  }
  if (*length < timing_.ungate) co_return true;
  Result<> ungated = co_await UngatePods(log);
  if (!ungated) co_return ungated.error();
  co_return true;
}

Async<kube::Duration> ControllerOutage::Length(bool available) {
  if (!available) {
    // The watch may lag behind, and its last event says nothing about a time without an API server.
    std::string named = "metadata.name=" + std::string(api::kControllerName);
    kube::ListOptions options{.ns = ns_, .field_selector = std::move(named)};
    Result<kube::TypedList<kube::Unstructured>> found =
        co_await kube::ListObjects(client_, kube::kDeployments, std::move(options));
    if (!found) co_return found.error().Prefix("read the controller's Deployment");
    available = !found->items.empty() && RolloutOf(&found->items.front().body()).available;
  }
  if (available) {
    observed_.reset();
    co_return kube::Duration::zero();
  }
  kube::TimePoint now = clock_.Now();
  bool continues = observed_ && now <= observed_->last + timing_.unobserved;
  if (!continues) observed_ = {.first = now, .last = now};
  observed_->last = now;
  co_return now - observed_->first;
}

Async<> ControllerOutage::UngatePods(const std::string& log) {
  if (round_.new_round() && clock_.Now() < next_round_) co_return Ok();
  // No new pod gets the cluster gate. A pod that has the local gate alone may be new: it is left to
  // its shard if the shard is available.
  ChooseGates choose = [this](const Pod& pod) -> std::optional<std::vector<std::string>> {
    const std::string& ns = pod.metadata().namespace_();
    bool stuck = placement::HasGate(pod, api::kClusterGate) ||
                 !RolloutIn(store_, ns, api::kShardControllerName).available;
    return stuck ? BothGates(pod) : std::nullopt;
  };
  std::string everywhere;
  Result<bool> complete =
      co_await UngateStep(client_, clock_, std::move(everywhere), std::move(choose), round_, log);
  if (!complete) co_return complete.error();
  if (!*complete) co_return Ok();
  std::string failures = DescribeFailures(round_);
  LOG_IF(WARNING, !failures.empty()) << log << " no controller is available: " << failures;
  round_ = UngateRound();
  next_round_ = clock_.Now() + timing_.ungate_again;
  co_return Ok();
}

}  // namespace operator_
