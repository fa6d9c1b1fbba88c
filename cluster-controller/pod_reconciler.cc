// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/pod_reconciler.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "api/names.h"
#include "kube/client/typed.h"
#include "placement/configs.h"
#include "placement/gate.h"
#include "placement/pod_metadata.h"
#include "placement/requirement.h"

namespace cluster_controller {
namespace {

using kube::Async;
using kube::Code;
using kube::Error;
using kube::Outcome;
using kube::Result;
using kube::core::Pod;
using namespace std::chrono_literals;

// The waits between the tries, as parts of the retry period: short first, for a blip, and long enough in the end to
// outlast a registry's short outage.
constexpr std::array<int, 4> kRetryParts = {2, 6, 18, 36};
constexpr int kAllRetryParts = std::accumulate(kRetryParts.begin(), kRetryParts.end(), 0);
constexpr int kMaxTries = kRetryParts.size() + 1;
// Looked at again even if nobody wakes it: no pod waits for ever.
constexpr std::chrono::milliseconds kAnswerOverdue = 2min;

// After the `tries`-th failed inspection.
std::chrono::milliseconds PauseAfter(int tries, std::chrono::milliseconds retry_period) {
  int last = static_cast<int>(kRetryParts.size());
  return retry_period * kRetryParts[static_cast<size_t>(std::clamp(tries, 1, last) - 1)] / kAllRetryParts;
}

bool ShardIsDone(const Pod& pod) { return placement::LabelOf(pod, api::kLocalGateLabel) == api::kRemoved; }

}  // namespace

Async<Outcome> PodReconciler::Reconcile(kube::Request request) {
  std::optional<Pod> pod = parts_.pods.Get(request.key);
  if (!pod || !placement::HasGate(*pod, api::kClusterGate)) {
    waiting_.erase(request.key);
    parts_.inspector.Forget(request.key);
    parts_.metrics.pods_gated.Set(static_cast<double>(waiting_.size()));
    co_return Outcome::Done();  // deleted, or released by an earlier pass
  }
  Waiting& waiting = Remember(request.key, *pod);
  if (waiting.released) co_return Outcome::Done();

  // The shard goes first; its time is used to inspect the images.
  bool take_over = false;
  if (placement::HasGate(*pod, api::kLocalGate)) {
    kube::Duration left = parts_.shards.WaitLeft(pod->metadata().namespace_(), waiting.first_seen);
    if (left > kube::Duration::zero()) {
      Prefetch(*pod, waiting);
      co_return Outcome::After(std::chrono::ceil<std::chrono::milliseconds>(left));
    }
    take_over = true;
  }
  api::ClusterPodPlacementConfig cluster = ClusterConfig();
  // Its deletion waits for this pod.
  bool hurry = cluster.metadata().has_deletion_timestamp();
  if (kube::TimePoint now = parts_.clock.Now(); now < waiting.next_try && !hurry) {
    co_return Outcome::After(std::chrono::ceil<std::chrono::milliseconds>(waiting.next_try - now));
  }
  kube::Stopwatch watch(parts_.metrics.time_to_process_pod, parts_.clock);

  // What the images support. A pod whose images are not known yet holds up nobody.
  placement::ClusterDecision decision;
  if (placement::NeedsRequirement(*pod)) {
    auto architectures = co_await parts_.inspector.Architectures(*pod);
    if (architectures && !*architectures) co_return Outcome::After(kAnswerOverdue);
    if (!architectures && !hurry && placement::InspectionTries(*pod) + 1 < kMaxTries) {
      Result<Outcome> later = co_await RecordFailure(request.key, std::move(*pod), architectures.error(),
                                                     cluster.spec.inspection_retry_period);
      co_return later;
    }
    if (architectures) {
      decision.architectures = std::move(**architectures);
    } else {
      parts_.metrics.failed_image_inspections.Increment();
      decision.inspection_error = architectures.error().message();
    }
  }

  // What a shard would have set, for a pod that has not passed one.
  std::shared_ptr<const std::vector<api::PodPlacementConfig>> configs;
  if (take_over || !ShardIsDone(*pod)) {
    std::string ns = pod->metadata().namespace_();
    std::vector<std::string> gating = placement::GatingConfigs(*pod);
    auto read = co_await parts_.configs.Read(std::move(ns), std::move(gating));
    if (!read) co_return read.error();
    configs = std::move(*read);
  }

  // Decide: pure, no I/O.
  if (configs != nullptr) decision.configs = placement::ConfigsFor(*pod, *configs);
  decision.take_over_shard = take_over;
  decision.cluster_platforms = cluster.Preferences();
  decision.fallback_architecture = cluster.spec.fallback_architecture;
  placement::Release release = placement::ReleaseCluster(*pod, decision);

  Result<Outcome> written = co_await Write(request.key, std::move(*pod), std::move(release));
  co_return written;
}

api::ClusterPodPlacementConfig PodReconciler::ClusterConfig() const {
  auto config = parts_.cluster_configs.Get({"", std::string(api::kClusterConfigName)});
  return std::move(config).value_or(api::ClusterPodPlacementConfig());
}

PodReconciler::Waiting& PodReconciler::Remember(const kube::ObjectKey& key, const Pod& pod) {
  auto [entry, is_new] = waiting_.try_emplace(key);
  Waiting& waiting = entry->second;
  if (!is_new && waiting.uid == pod.metadata().uid()) return waiting;
  waiting = {.uid = pod.metadata().uid(), .first_seen = parts_.clock.Now(), .next_try = {}};
  // Tried before, by a leader before this one: how much of its pause is left is not known, so it begins again.
  if (int tries = placement::InspectionTries(pod); tries > 0) {
    waiting.next_try = waiting.first_seen + PauseAfter(tries, ClusterConfig().spec.inspection_retry_period);
  }
  parts_.metrics.pods_gated.Set(static_cast<double>(waiting_.size()));
  parts_.events.Record(kube::ReferenceTo(pod), /*warning=*/false, api::kReasonGateAdded,
                       "Waiting for the images' architectures to be known.");
  return waiting;
}

void PodReconciler::Prefetch(const Pod& pod, Waiting& waiting) {
  if (waiting.prefetching || !placement::NeedsRequirement(pod)) return;
  if (!parts_.inspector.HasTimeToPrefetch()) return;
  waiting.prefetching = true;
  parts_.tasks.Spawn("prefetch", RunPrefetch(PodInspector::Images::Of(pod)));
}

kube::asio::awaitable<void> PodReconciler::RunPrefetch(PodInspector::Images images) {
  // The answer stays in the inspector's cache; an error is met again, and told, when it counts.
  auto ignored = co_await parts_.inspector.Prefetch(std::move(images));
  (void)ignored;
}

Async<Outcome> PodReconciler::RecordFailure(kube::ObjectKey key, Pod pod, Error error,
                                            std::chrono::milliseconds retry_period) {
  int tries = placement::InspectionTries(pod) + 1;
  parts_.metrics.failed_image_inspections.Increment();
  parts_.events.Record(kube::ReferenceTo(pod), /*warning=*/true, api::kReasonInspectionError, error.message());
  placement::ApplyInspectionError(pod, error.message(), tries);
  Result<Pod> written = co_await kube::Update(parts_.client, std::move(pod));
  if (!written) co_return written.error().Prefix("record a failed inspection");

  std::chrono::milliseconds delay = PauseAfter(tries, retry_period);
  if (auto waiting = waiting_.find(key); waiting != waiting_.end()) {
    waiting->second.next_try = parts_.clock.Now() + delay;
  }
  co_return Outcome::After(delay);
}

Async<Outcome> PodReconciler::Write(kube::ObjectKey key, Pod pod, placement::Release release) {
  if (!release.released) co_return Outcome::Done();
  kube::core::ObjectReference reference = kube::ReferenceTo(pod);
  Result<> written = co_await kube::Replace(parts_.client, pod);
  if (FailedWith(written, Code::kInvalid)) {
    // The API server will never take this pod as decided; without the gate it still runs somewhere.
    parts_.events.Record(reference, /*warning=*/true, api::kReasonGateRemovalFailed, written.error().message());
    std::optional<Pod> bare = parts_.pods.Get(key);
    if (!bare) co_return Outcome::Done();
    bool local = placement::HasGate(*bare, api::kLocalGate);
    if (local) placement::ReleaseBare(*bare, api::kLocalGate);
    release = placement::ReleaseBare(*bare, api::kClusterGate);
    written = co_await kube::Replace(parts_.client, *bare);
  }
  if (IsNotFound(written)) co_return Outcome::Done();
  if (!written) co_return written.error().Prefix("release the cluster gate");
  for (const placement::PodEvent& event : release.events) {
    parts_.events.Record(reference, event.warning, event.reason, event.message);
  }
  parts_.metrics.processed_pods.Increment();
  if (auto waiting = waiting_.find(key); waiting != waiting_.end()) {
    waiting->second.released = true;
    std::chrono::duration<double> waited = parts_.clock.Now() - waiting->second.first_seen;
    parts_.metrics.time_to_process_gated_pod.Observe(waited.count());
  }
  co_return Outcome::Done();
}

}  // namespace cluster_controller
