// SPDX-License-Identifier: Apache-2.0
#include "shard/pod_reconciler.h"

#include <glog/logging.h>

#include "api/names.h"
#include "kube/base/one_line.h"
#include "kube/client/refusal.h"
#include "kube/client/typed.h"
#include "placement/gate.h"
#include "placement/ignored.h"
#include "placement/local_configs.h"
#include "placement/matching_configs.h"

namespace shard {

using kube::Async;
using kube::Code;
using kube::Error;
using kube::Ok;
using kube::Outcome;
using kube::Result;
using kube::core::Pod;
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
    if (released.error().code() != Code::kCancelled) RecordFailure(*pod, released.error());
  }
  co_return released;
}

Async<Outcome> PodReconciler::Release(Pod& pod, const std::string& log) {
  bool refused = false;
  for (int attempt = 1;; ++attempt) {
    std::string ns = pod.metadata().namespace_();
    std::vector<std::string> gating = placement::GatingConfigs(pod);
    Result<watches::FreshConfigs::Snapshot> known =
        co_await deps_.configs.Read(std::move(ns), std::move(gating));
    if (!known) co_return known.error();

    Result<Decision> decision = Decision{};
    if (refused) {
      decision->release = placement::ReleaseBare(pod, api::kLocalGate);
    } else {
      decision = co_await Decide(pod, **known);
    }
    if (decision && decision->wait > 0ms) {
      VLOG(1) << log << " waits " << decision->wait.count() << " ms for rules to be evaluated";
      co_return Outcome::After(decision->wait);
    }
    if (decision && !decision->release.released) co_return Outcome::Done();  // ungated since

    // Write, guarded by the resourceVersion of the pod that was read.
    Result<> written = decision ? Ok() : Result<>(decision.error());
    if (decision) written = co_await kube::Replace(deps_.client, pod);
    if (written) {
      deps_.metrics.processed_pods.Increment();
      kube::core::ObjectReference about = kube::ReferenceTo(pod);
      for (placement::PodEvent& event : decision->release.events) {
        VLOG(1) << log << " released: " << event.reason << ": " << kube::OneLine(event.message);
        deps_.events.Record(about, event.warning, event.reason, std::move(event.message));
      }
      co_return Outcome::Done();
    }
    if (kube::IsNotFound(written)) co_return Outcome::Done();  // deleted

    // If the API server or a policy refuses these changes for good, the next attempt only drops the
    // gate: no pod stays gated (I3).
    bool refused_now = !refused && kube::IsRefusal(written.error());
    if ((!refused_now && !kube::IsConflict(written)) || attempt == kMaxAttempts) {
      co_return written.error().Prefix("drop the local gate");
    }
    VLOG(1) << log << (refused_now ? " refused, only the gate is removed: " : " conflict: ")
            << kube::OneLine(written.error().message());
    if (refused_now) RecordFailure(pod, written.error());
    refused |= refused_now;
    Result<Pod> live = co_await ReadLive(pod);
    if (kube::IsNotFound(live)) co_return Outcome::Done();
    if (!live) co_return live.error();
    pod = std::move(*live);
  }
}

Async<PodReconciler::Decision> PodReconciler::Decide(
    Pod& pod, std::span<const api::PodPlacementConfig> configs) {
  if (placement::IsIgnored(pod, /*operator_namespace=*/""))
    co_return Decision{.release = placement::ReleaseIgnored(pod, api::kLocalGate)};
  placement::MatchingConfigs matching = placement::ConfigsFor(pod, configs);
  if (placement::HasOpenRules(matching)) {
    Result<std::chrono::milliseconds> wait = co_await deps_.rules.Ask(pod, matching);
    if (!wait) co_return wait.error();
    if (*wait > 0ms) co_return Decision{.wait = *wait};
  }
  co_return Decision{.release = placement::ReleaseLocal(pod, matching)};
}

Async<Pod> PodReconciler::ReadLive(const Pod& pod) {
  kube::ObjectKey key = kube::KeyOf(pod);
  Result<Pod> live = co_await kube::Get<Pod>(deps_.client, key);
  if (!live) co_return live.error().Prefix("read the pod");
  // Another pod of the same name, which has its own event.
  if (live->metadata().uid() != pod.metadata().uid())
    co_return Error::NotFound("pod " + key.ToString());
  co_return live;
}

void PodReconciler::RecordFailure(const Pod& pod, const Error& error) {
  if (!limiter_.Allow(kube::KeyOf(pod), error.message())) return;
  deps_.events.Record(kube::ReferenceTo(pod), /*warning=*/true, api::kReasonGateRemovalFailed,
                      "Could not remove the scheduling gate " + std::string(api::kLocalGate) +
                          ": " + error.message());
}

}  // namespace shard
