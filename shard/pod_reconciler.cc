// SPDX-License-Identifier: Apache-2.0
#include "shard/pod_reconciler.h"

#include <glog/logging.h>

#include "api/names.h"
#include "kube/base/one_line.h"
#include "placement/gate.h"
#include "placement/ignored.h"
#include "placement/local_configs.h"
#include "placement/matching_configs.h"

namespace shard {

using kube::Async;
using kube::Code;
using kube::Outcome;
using kube::Result;
using kube::core::Pod;
using writes::Written;
using namespace std::chrono_literals;

namespace {

// After this many attempts, a pod with conflicts goes back to the end of the queue.
constexpr int kMaxAttempts = 4;

}  // namespace

Async<Outcome> PodReconciler::Reconcile(kube::Request request) {
  kube::Stopwatch any_pod(deps_.metrics.time_to_process_pod, deps_.clock);
  std::optional<Pod> pod = deps_.pods.Get(request.key);
  if (!pod || !placement::HasGate(*pod, api::kLocalGate)) co_return Outcome::Done();

  kube::Stopwatch gated_pod(deps_.metrics.time_to_process_gated_pod, deps_.clock);
  Result<Outcome> released = co_await Release(*pod, request.log);
  if (!released) {
    if (released.error().code() == Code::kPermissionDenied) deps_.rights.OnForbidden();
    writer_.RecordFailure(*pod, released.error());
  }
  co_return released;
}

Async<Outcome> PodReconciler::Release(Pod& pod, const std::string& log) {
  bool without_tolerations = false;
  for (int attempt = 1;; ++attempt) {
    std::string ns = pod.metadata().namespace_();
    std::vector<std::string> gating = placement::GatingConfigs(pod);
    Result<watches::FreshConfigs::Snapshot> known =
        co_await deps_.configs.Read(std::move(ns), std::move(gating));
    if (!known) co_return known.error();

    Result<Decision> decision = co_await Decide(pod, **known, without_tolerations);
    if (decision && decision->wait > 0ms) {
      VLOG(1) << log << " waits " << decision->wait.count() << " ms for rules to be evaluated";
      co_return Outcome::After(decision->wait);
    }
    Result<Written> written = Written::kNotGated;
    if (decision) {
      written = co_await writer_.Write(pod, decision->release, log);
    } else {
      written = decision.error();
    }
    if (written && *written == Written::kReleased) deps_.metrics.processed_pods.Increment();
    if (written && *written == Written::kAdditionsRefused) {
      // An admission policy may allow only certain tolerations.
      without_tolerations = true;
    } else if (written || kube::IsNotFound(written)) {
      co_return Outcome::Done();
    } else if (!kube::IsConflict(written) || attempt >= kMaxAttempts) {
      co_return written.error().Prefix("drop the local gate");
    } else {
      VLOG(1) << log << " conflict: " << kube::OneLine(written.error().message());
    }
    Result<Pod> newest = co_await writer_.ReadNewest(pod);
    if (kube::IsNotFound(newest)) co_return Outcome::Done();  // deleted
    if (!newest) co_return newest.error();
    pod = std::move(*newest);
  }
}

Async<PodReconciler::Decision> PodReconciler::Decide(
    Pod& pod, std::span<const api::PodPlacementConfig> configs, bool without_tolerations) {
  if (placement::IsIgnored(pod, /*operator_namespace=*/""))
    co_return Decision{.release = placement::ReleaseIgnored(pod, api::kLocalGate)};
  placement::MatchingConfigs matching = placement::ConfigsFor(pod, configs);
  if (placement::HasOpenRules(matching)) {
    Result<std::chrono::milliseconds> wait = co_await deps_.rules.Ask(pod, matching);
    if (!wait) co_return wait.error();
    if (*wait > 0ms) co_return Decision{.wait = *wait};
  }
  co_return Decision{.release = placement::ReleaseLocal(pod, matching, without_tolerations)};
}

}  // namespace shard
