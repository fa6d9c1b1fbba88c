// SPDX-License-Identifier: Apache-2.0
#include "shard/pod_reconciler.h"

#include <glog/logging.h>

#include "api/names.h"
#include "kube/base/one_line.h"
#include "kube/client/refusal.h"
#include "kube/client/typed.h"
#include "placement/gate.h"
#include "placement/ignored.h"
#include "placement/matching_configs.h"
#include "placement/release.h"

namespace shard {

using kube::Async;
using kube::Code;
using kube::Error;
using kube::Ok;
using kube::Outcome;
using kube::Result;
using kube::core::Pod;

namespace {

// After this many attempts, a pod with conflicts goes back to the end of the queue.
constexpr int kMaxAttempts = 4;

}  // namespace

Async<Outcome> PodReconciler::Reconcile(kube::Request request) {
  kube::Stopwatch any_pod(deps_.metrics.time_to_process_pod, deps_.clock);
  std::optional<Pod> pod = deps_.pods.Get(request.key);
  if (!pod || !placement::HasGate(*pod, api::kLocalGate)) co_return Outcome::Done();

  kube::Stopwatch gated_pod(deps_.metrics.time_to_process_gated_pod, deps_.clock);
  Result<> released = co_await Release(*pod, request.log);
  if (!released) {
    if (released.error().code() == Code::kPermissionDenied) deps_.rights.OnForbidden();
    if (released.error().code() != Code::kCancelled) RecordFailure(*pod, released.error());
    co_return released.error();
  }
  co_return Outcome::Done();
}

Async<> PodReconciler::Release(Pod& pod, const std::string& log) {
  bool refused = false;
  for (int attempt = 1;; ++attempt) {
    std::string ns = pod.metadata().namespace_();
    std::vector<std::string> gating = placement::GatingConfigs(pod);
    Result<watches::FreshConfigs::Snapshot> known =
        co_await deps_.configs.Read(std::move(ns), std::move(gating));
    if (!known) co_return known.error();

    // Decide.
    placement::Release release;
    if (refused) {
      release = placement::ReleaseBare(pod, api::kLocalGate);
    } else if (placement::IsIgnored(pod, /*operator_namespace=*/"")) {
      release = placement::ReleaseIgnored(pod, api::kLocalGate);
    } else {
      release = placement::ReleaseLocal(pod, placement::ConfigsFor(pod, **known));
    }
    if (!release.released) co_return Ok();  // ungated since

    // Write, guarded by the resourceVersion of the pod that was read.
    Result<> written = co_await kube::Replace(deps_.client, pod);
    if (written) {
      deps_.metrics.processed_pods.Increment();
      kube::core::ObjectReference about = kube::ReferenceTo(pod);
      for (placement::PodEvent& event : release.events) {
        VLOG(1) << log << " released: " << event.reason << ": " << kube::OneLine(event.message);
        deps_.events.Record(about, event.warning, event.reason, std::move(event.message));
      }
      co_return Ok();
    }
    if (kube::IsNotFound(written)) co_return Ok();  // deleted

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
    if (kube::IsNotFound(live)) co_return Ok();
    if (!live) co_return live.error();
    pod = std::move(*live);
  }
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
