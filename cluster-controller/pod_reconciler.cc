// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/pod_reconciler.h"

#include <glog/logging.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "api/names.h"
#include "kube/client/refusal.h"
#include "kube/client/typed.h"
#include "placement/gate.h"
#include "placement/ignored.h"
#include "placement/matching_configs.h"
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

// The waits between the tries, as parts of the retry period: short first, for a blip, and long
// enough in the end to outlast a registry's short outage.
constexpr std::array<int, placement::kMaxInspectionTries - 1> kRetryParts = {2, 6, 18, 36};
constexpr int kAllRetryParts = std::accumulate(kRetryParts.begin(), kRetryParts.end(), 0);
// Of a pod that a leader before this one tried, when is not known: soon, or terms that are shorter
// than the wait would let nobody try it again.
constexpr std::chrono::milliseconds kNewLeaderWait = 5s;
// Looked at again even if nobody wakes it: no pod waits for ever.
constexpr std::chrono::milliseconds kAnswerOverdue = 2min;
constexpr std::chrono::milliseconds kLookAgain = 30s;
// A write that found a newer pod is decided again, and is told as a failure only where that happens
// so often in a row.
constexpr int kConflictsToTell = 4;

// After the `tries`-th failed inspection.
std::chrono::milliseconds PauseAfter(int tries, std::chrono::milliseconds retry_period) {
  int last = static_cast<int>(kRetryParts.size());
  return retry_period * kRetryParts[static_cast<size_t>(std::clamp(tries, 1, last) - 1)] /
         kAllRetryParts;
}

bool ShardIsDone(const Pod& pod) {
  return placement::LabelOf(pod, api::kLocalGateLabel) == api::kRemoved;
}

}  // namespace

Async<Outcome> PodReconciler::Reconcile(kube::Request request) {
  kube::Stopwatch watch(parts_.metrics.time_to_process_pod, parts_.clock);
  std::optional<Pod> pod = parts_.pods.Get(request.key);
  bool cluster_gate = pod && placement::HasGate(*pod, api::kClusterGate);
  bool local_gate = pod && placement::HasGate(*pod, api::kLocalGate);
  if (!cluster_gate && !local_gate) {
    parts_.known.Forget(request.key);
    parts_.inspector.Forget(request.key);
    ShowWaiting();
    co_return Outcome::Done();  // deleted, or released by an earlier pass
  }
  KnownPod& known = Remember(*pod);
  if (known.released) co_return Outcome::Done();
  kube::TimePoint first_seen = known.first_seen;

  // A pod that none of our webhooks would have gated.
  bool ignored = placement::IsIgnored(*pod, parts_.operator_namespace);
  if (!ignored && !placement::IsGatedByWebhook(*pod)) {
    std::string ns = pod->metadata().namespace_();
    Result<bool> excluded = co_await IsExcluded(std::move(ns));
    if (!excluded) co_return excluded.error();
    ignored = *excluded;
  }
  if (ignored) {
    placement::Release release = placement::ReleaseIgnored(*pod, api::kClusterGate);
    Result<Outcome> written = co_await Write(std::move(*pod), std::move(release));
    co_return written;
  }

  // The shard goes first; its time is used to inspect the images.
  if (local_gate) {
    kube::Duration left = parts_.shards.WaitLeft(pod->metadata().namespace_(), first_seen);
    if (left > kube::Duration::zero()) {
      if (cluster_gate) Prefetch(*pod);
      co_return Outcome::After(std::chrono::ceil<std::chrono::milliseconds>(left));
    }
  }
  Result<Outcome> placed = co_await Place(std::move(*pod), /*take_over=*/local_gate);
  co_return placed;
}

Async<Outcome> PodReconciler::Place(Pod pod, bool take_over) {
  kube::ObjectKey key = kube::KeyOf(pod);
  api::ClusterPodPlacementConfig cluster = ClusterConfig();
  // Its deletion waits for this pod.
  bool hurry = cluster.metadata().has_deletion_timestamp();
  int tries = placement::InspectionTries(pod);
  kube::TimePoint began = parts_.clock.Now();
  if (KnownPod* known = parts_.known.Find(key)) {
    if (began < known->next_try && !hurry) {
      co_return Outcome::After(
          std::chrono::ceil<std::chrono::milliseconds>(known->next_try - began));
    }
    // It goes on until the images are known and the pod is written.
    if (known->pass_began == kube::TimePoint()) known->pass_began = began;
    tries = std::max(tries, known->tries);
  }
  tries = std::min(tries + 1, placement::kMaxInspectionTries);

  // What the images support. A pod whose images are not known yet holds up nobody.
  placement::ClusterDecision decision;
  if (placement::HasGate(pod, api::kClusterGate) && placement::NeedsRequirement(pod)) {
    auto architectures = co_await parts_.inspector.Architectures(pod);
    if (architectures && !*architectures) co_return Outcome::After(kAnswerOverdue);
    if (!architectures && !hurry && tries < placement::kMaxInspectionTries) {
      Result<Outcome> later = co_await RecordFailure(std::move(pod), architectures.error(), tries,
                                                     cluster.spec.inspection_retry_period);
      co_return later;
    }
    if (architectures) {
      decision.architectures = std::move(**architectures);
    } else {
      parts_.metrics.failed_image_inspections.Increment();
      decision.inspection_error = architectures.error().message();
      decision.inspection_tries = tries;
    }
  }

  // What a shard would have set, for a pod that has not passed one.
  std::shared_ptr<const std::vector<api::PodPlacementConfig>> configs;
  if (take_over || !ShardIsDone(pod)) {
    std::string ns = pod.metadata().namespace_();
    std::vector<std::string> gating = placement::GatingConfigs(pod);
    auto read = co_await parts_.configs.Read(std::move(ns), std::move(gating));
    if (!read) co_return read.error();
    configs = std::move(*read);
  }

  // Decide: pure, no I/O.
  if (configs != nullptr) decision.configs = placement::ConfigsFor(pod, *configs);
  decision.take_over_shard = take_over;
  decision.cluster_platforms = cluster.Preferences();
  decision.fallback_architecture = cluster.spec.fallback_architecture;
  placement::Release release = placement::HasGate(pod, api::kClusterGate)
                                   ? placement::ReleaseCluster(pod, decision)
                                   : placement::TakeOverLocal(pod, decision.configs);

  Result<Outcome> written = co_await Write(std::move(pod), std::move(release));
  co_return written;
}

void PodReconciler::ForgetGone() {
  parts_.known.KeepOnly(parts_.pods);
  ShowWaiting();
}

void PodReconciler::ShowWaiting() {
  parts_.metrics.pods_gated.Set(static_cast<double>(parts_.known.size()));
}

api::ClusterPodPlacementConfig PodReconciler::ClusterConfig() const {
  auto config = parts_.cluster_configs.Get({"", std::string(api::kClusterConfigName)});
  return std::move(config).value_or(api::ClusterPodPlacementConfig());
}

Async<bool> PodReconciler::IsExcluded(std::string ns) {
  std::optional<kube::meta::LabelSelector> selector = ClusterConfig().spec.namespace_selector;
  if (!selector || (selector->match_labels().empty() && selector->match_expressions().empty()))
    co_return false;
  Result<bool> selected =
      co_await parts_.namespaces.IsSelected(std::move(ns), std::move(*selector));
  if (!selected) co_return selected.error();
  co_return !*selected;
}

KnownPod& PodReconciler::Remember(const Pod& pod) {
  auto [known, is_new] = parts_.known.Remember(pod);
  if (!is_new) return known;
  ShowWaiting();
  if (int tries = placement::InspectionTries(pod); tries > 0) {
    // Not all of them at once.
    std::chrono::milliseconds longest = std::min(
        PauseAfter(tries, ClusterConfig().spec.inspection_retry_period) / 4, kNewLeaderWait);
    known.next_try = known.first_seen + longest * static_cast<int>(known.uid_hash % 16) / 16;
  }
  if (placement::HasGate(pod, api::kClusterGate)) {
    parts_.events.Record(kube::ReferenceTo(pod), /*warning=*/false, api::kReasonGateAdded,
                         "Waiting for the images' architectures to be known.");
  }
  return known;
}

void PodReconciler::Prefetch(const Pod& pod) {
  KnownPod* known = parts_.known.Find(kube::KeyOf(pod));
  if (known == nullptr || known->prefetching || !placement::NeedsRequirement(pod)) return;
  if (!parts_.inspector.HasTimeToPrefetch()) return;
  known->prefetching = true;
  parts_.tasks.Spawn("prefetch", RunPrefetch(PodInspector::Images::Of(pod)));
}

kube::asio::awaitable<void> PodReconciler::RunPrefetch(PodInspector::Images images) {
  // The answer stays in the inspector's cache; an error is met again, and told, when it counts.
  auto ignored = co_await parts_.inspector.Prefetch(std::move(images));
  (void)ignored;
}

Async<Outcome> PodReconciler::RecordFailure(Pod pod, Error error, int tries,
                                            std::chrono::milliseconds retry_period) {
  kube::ObjectKey key = kube::KeyOf(pod);
  parts_.metrics.failed_image_inspections.Increment();
  parts_.events.Record(kube::ReferenceTo(pod), /*warning=*/true, api::kReasonInspectionError,
                       error.message());
  std::chrono::milliseconds delay = PauseAfter(tries, retry_period);
  if (KnownPod* known = parts_.known.Find(key)) {
    known->tries = tries;
    known->next_try = parts_.clock.Now() + delay;
  }
  placement::ApplyInspectionError(pod, error.message(), tries);
  Result<> written = co_await kube::Replace(parts_.client, pod);
  // The count goes on without it, and the next write says it.
  LOG_IF(WARNING, !written && !IsNotFound(written) && !IsConflict(written))
      << "record a failed inspection on " << key.ToString() << ": " << written.error();
  EndPass(key);
  co_return Outcome::After(delay);
}

Async<Outcome> PodReconciler::Write(Pod pod, placement::Release release) {
  if (!release.released) co_return Outcome::Done();
  kube::ObjectKey key = kube::KeyOf(pod);
  Result<> written = co_await kube::Replace(parts_.client, pod);
  if (!written && kube::IsRefusal(written.error())) {
    // The API server will never take this pod as decided; without the gates it still runs
    // somewhere.
    TellFailedRemoval(pod, written.error());
    std::optional<Pod> bare = parts_.pods.Get(key);
    if (!bare) co_return Outcome::Done();
    release = placement::ReleaseBare(*bare, api::kClusterGate);
    if (!release.released) co_return Outcome::Done();
    written = co_await kube::Replace(parts_.client, *bare);
  }
  EndPass(key);
  // If the cache still has the pod by then, it was not so.
  if (IsNotFound(written)) co_return Outcome::After(kLookAgain);

  KnownPod* known = parts_.known.Find(key);
  if (!written) {
    int conflicts = 0;
    if (known != nullptr && IsConflict(written)) conflicts = ++known->conflicts;
    if (!IsConflict(written) || conflicts >= kConflictsToTell)
      TellFailedRemoval(pod, written.error());
    co_return written.error().Prefix("remove the scheduling gates");
  }
  kube::core::ObjectReference reference = kube::ReferenceTo(pod);
  for (const placement::PodEvent& event : release.events) {
    parts_.events.Record(reference, event.warning, event.reason, event.message);
  }
  parts_.metrics.processed_pods.Increment();
  if (known != nullptr) {
    known->released = true;
    std::chrono::duration<double> waited = parts_.clock.Now() - known->first_seen;
    parts_.metrics.time_to_release_pod.Observe(waited.count());
  }
  co_return Outcome::Done();
}

void PodReconciler::EndPass(const kube::ObjectKey& key) {
  KnownPod* known = parts_.known.Find(key);
  if (known == nullptr || known->pass_began == kube::TimePoint()) return;
  std::chrono::duration<double> took = parts_.clock.Now() - known->pass_began;
  known->pass_began = {};
  parts_.metrics.time_to_process_gated_pod.Observe(took.count());
}

void PodReconciler::TellFailedRemoval(const Pod& pod, const Error& error) {
  if (error.code() == Code::kCancelled || !limiter_.Allow(kube::KeyOf(pod), error.message()))
    return;
  parts_.events.Record(kube::ReferenceTo(pod), /*warning=*/true, api::kReasonGateRemovalFailed,
                       "Could not remove the scheduling gates: " + error.message());
}

}  // namespace cluster_controller
