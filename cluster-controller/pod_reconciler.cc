// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/pod_reconciler.h"

#include <glog/logging.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "api/names.h"
#include "cluster-controller/timing.h"
#include "kube/base/one_line.h"
#include "kube/client/refusal.h"
#include "kube/client/typed.h"
#include "kube/types/object_name.h"
#include "placement/gate.h"
#include "placement/ignored.h"
#include "placement/local_configs.h"
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

// A pod that the API server does not know any more should leave the cache within this time.
constexpr std::chrono::milliseconds kRecheckAfter = 30s;
// A write that fails with a conflict is decided again. It is an event only after this number of
// consecutive conflicts.
constexpr int kReportedConflicts = 4;
// After a refused write, the pod is decided again without additions.
constexpr std::chrono::milliseconds kDecideAgainAfter = 1ms;

// The interval of checks whether all additions can be made, after the start of the process.
constexpr std::chrono::milliseconds kAdditionsReady = 100ms;

// After the failed inspection with number `attempt`.
std::chrono::milliseconds BackoffAfter(int attempt, std::chrono::milliseconds retry_period) {
  const auto& parts = kBackoffParts;
  constexpr int kAllParts = std::accumulate(parts.begin(), parts.end(), 0);
  int last = static_cast<int>(parts.size());
  return retry_period * parts[static_cast<size_t>(std::clamp(attempt, 1, last) - 1)] / kAllParts;
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
    Forget(request.key);
    co_return Outcome::Done();  // deleted, or released by an earlier pass
  }
  KnownPod& known = Observe(*pod);
  if (known.released) co_return Outcome::Done();
  kube::TimePoint first_seen = known.first_seen;

  // A pod that the operator's webhooks would not gate, or must not.
  bool ignored = placement::IsIgnored(*pod, parts_.operator_namespace);
  if (!ignored && !placement::IsGatedByWebhook(*pod)) {
    std::string ns = pod->metadata().namespace_();
    Result<bool> excluded = co_await IsExcluded(std::move(ns));
    if (!excluded) co_return excluded.error();
    ignored = *excluded;
  }
  if (ignored) {
    placement::Release release = placement::ReleaseIgnored(*pod, api::kClusterGate);
    VLOG(1) << request.log << " is not to be placed: its gates are removed";
    Result<Outcome> written = co_await Write(std::move(*pod), std::move(release), request.log);
    co_return written;
  }

  // The shard goes first; meanwhile the images are inspected.
  if (local_gate) {
    kube::Duration left = parts_.shards.WaitLeft(pod->metadata().namespace_(), first_seen,
                                                 ClusterConfig()->spec.shard_takeover_after);
    if (left > kube::Duration::zero()) {
      if (cluster_gate) Prefetch(*pod);
      auto wait = std::chrono::ceil<std::chrono::milliseconds>(left);
      VLOG(1) << request.log << " waits for its shard, at most " << wait.count() << " ms";
      co_return Outcome::After(wait);
    }
  }
  Result<Outcome> placed = co_await Place(std::move(*pod), /*take_over=*/local_gate, request.log);
  co_return placed;
}

Async<Outcome> PodReconciler::Place(Pod pod, bool take_over, const std::string& log) {
  kube::ObjectKey key = kube::KeyOf(pod);
  SharedConfig shared = ClusterConfig();
  const api::ClusterPodPlacementConfig& cluster = *shared;
  // The deletion of the config waits for this pod.
  bool being_deleted = cluster.metadata().has_deletion_timestamp();
  int attempt = placement::InspectionTries(pod, kMaxAttempts);
  kube::TimePoint now = parts_.clock.Now();
  bool additions_refused = false;
  if (KnownPod* known = parts_.known.Find(key)) {
    additions_refused = known->additions_refused;
    if (now < known->next_attempt && !being_deleted) {
      auto wait = std::chrono::ceil<std::chrono::milliseconds>(known->next_attempt - now);
      VLOG(1) << log << " inspects its images again in " << wait.count() << " ms";
      co_return Outcome::After(wait);
    }
    if (known->processing_since == kube::TimePoint()) known->processing_since = now;
    attempt = std::max(attempt, known->attempts);
  }
  attempt = std::min(attempt + 1, kMaxAttempts);

  // Additions come first: they may say on which architectures the pod runs.
  std::optional<Pod> stored;  // as the API server has it, if `pod` may be another one
  std::vector<placement::PodEvent> events;
  bool added = false;
  for (const std::unique_ptr<PodAdditions>& additions : parts_.additions) {
    if (additions->WaitLeft() > kube::Duration::zero()) co_return Outcome::After(kAdditionsReady);
    if (additions_refused || !additions->Any()) continue;
    if (!stored) stored = pod;
    added |= additions->AddTo(pod, events);
  }

  // The images. While they are not known yet, the pod occupies no worker.
  placement::ClusterDecision decision;
  if (placement::HasGate(pod, api::kClusterGate) && placement::NeedsRequirement(pod)) {
    auto architectures = co_await parts_.inspector.Architectures(pod);
    if (architectures && !*architectures) {
      VLOG(1) << log << " waits for the inspection of its images";
      co_return Outcome::After(kResultOverdue);
    }
    if (!architectures && !being_deleted && attempt < kMaxAttempts) {
      if (stored) pod = std::move(*stored);
      Result<Outcome> later = co_await RecordFailure(std::move(pod), architectures.error(), attempt,
                                                     cluster.spec.inspection_retry_period, log);
      co_return later;
    }
    if (architectures) {
      decision.architectures = std::move(**architectures);
    } else {
      parts_.metrics.failed_image_inspections.Increment();
      VLOG(1) << log << " gives up the inspection of its images after attempt " << attempt << ": "
              << kube::OneLine(architectures.error().message());
      decision.inspection_error = architectures.error().message();
      decision.inspection_tries = attempt;
    }
  }

  // The configs of the namespace and their rules, for a pod that no shard has processed. For other
  // pods, the shard has set the preferences, and names the config whose tolerations apply.
  std::shared_ptr<const std::vector<api::PodPlacementConfig>> configs;
  std::string tolerations_of(placement::AnnotationOf(pod, api::kLocalTolerationsAnnotation));
  if (take_over || !ShardIsDone(pod) || !tolerations_of.empty()) {
    std::string ns = pod.metadata().namespace_();
    std::vector<std::string> expected = placement::GatingConfigs(pod);
    if (kube::IsObjectName(tolerations_of)) expected.push_back(std::move(tolerations_of));
    auto read = co_await parts_.configs.Read(std::move(ns), std::move(expected));
    if (!read) co_return read.error();
    configs = std::move(*read);
  }

  if (configs != nullptr) decision.configs = placement::ConfigsFor(pod, *configs);
  if ((take_over || !ShardIsDone(pod)) && placement::HasOpenRules(decision.configs)) {
    const Pod& asked = stored ? *stored : pod;
    Result<std::chrono::milliseconds> wait = co_await parts_.rules.Ask(asked, decision.configs);
    if (IsNotFound(wait)) co_return Outcome::After(kRecheckAfter);
    if (!wait) co_return wait.error().Prefix("ask about the rules of PodPlacementConfigs");
    if (*wait > 0ms) {
      VLOG(1) << log << " waits " << wait->count() << " ms for rules to be evaluated";
      co_return Outcome::After(*wait);
    }
  }

  // Decide: pure, no I/O.
  decision.take_over_shard = take_over;
  decision.cluster_platforms = cluster.Preferences();
  decision.cluster_tolerations = cluster.Tolerations();
  decision.without_tolerations = additions_refused;
  decision.fallback_architecture = cluster.spec.fallback_architecture;
  placement::Release release = placement::HasGate(pod, api::kClusterGate)
                                   ? placement::ReleaseCluster(pod, decision)
                                   : placement::TakeOverLocal(pod, decision.configs);

  release.events.insert(release.events.begin(), events.begin(), events.end());
  release.additions = release.additions || added;

  Result<Outcome> written = co_await Write(std::move(pod), std::move(release), log);
  co_return written;
}

void PodReconciler::Forget(const kube::ObjectKey& key) {
  parts_.known.Forget(key);
  parts_.inspector.Forget(key);
  UpdateGatedMetric();
}

void PodReconciler::ForgetDeleted() {
  parts_.known.KeepOnly(parts_.pods);
  UpdateGatedMetric();
}

void PodReconciler::UpdateGatedMetric() {
  parts_.metrics.pods_gated.Set(static_cast<double>(parts_.known.size()));
}

PodReconciler::SharedConfig PodReconciler::ClusterConfig() {
  static const SharedConfig kDefault = std::make_shared<api::ClusterPodPlacementConfig>();
  SharedConfig current = kDefault;
  parts_.cluster_configs.ForEach([&](const api::ClusterPodPlacementConfig& config) {
    const kube::meta::ObjectMeta& metadata = config.metadata();
    if (metadata.name() != api::kClusterConfigName) return;
    if (metadata.resource_version() != cluster_config_->metadata().resource_version())
      cluster_config_ = std::make_shared<api::ClusterPodPlacementConfig>(config);
    current = cluster_config_;
  });
  return current;
}

Async<bool> PodReconciler::IsExcluded(std::string ns) {
  std::optional<kube::meta::LabelSelector> selector = ClusterConfig()->spec.namespace_selector;
  if (!selector || (selector->match_labels().empty() && selector->match_expressions().empty()))
    co_return false;
  Result<bool> selected =
      co_await parts_.namespaces.IsSelected(std::move(ns), std::move(*selector));
  if (!selected) co_return selected.error();
  co_return !*selected;
}

KnownPod& PodReconciler::Observe(const Pod& pod) {
  auto [known, is_new] = parts_.known.Add(pod);
  if (!is_new) return known;
  UpdateGatedMetric();
  int attempt = placement::InspectionTries(pod, kMaxAttempts);
  if (attempt > 0) {
    // Spread over time, so that a new leader does not retry all pods at once.
    std::chrono::milliseconds longest =
        std::min(BackoffAfter(attempt, ClusterConfig()->spec.inspection_retry_period) / 4,
                 kMaxNewLeaderBackoff);
    known.next_attempt = known.first_seen + longest * static_cast<int>(known.uid_hash % 16) / 16;
  }
  if (placement::HasGate(pod, api::kClusterGate)) {
    parts_.events.Record(kube::ReferenceTo(pod), /*warning=*/false, api::kReasonGateAdded,
                         "Waiting for the architectures of the pod's images.");
  }
  return known;
}

void PodReconciler::Prefetch(const Pod& pod) {
  KnownPod* known = parts_.known.Find(kube::KeyOf(pod));
  if (known == nullptr || known->prefetching || !placement::NeedsRequirement(pod)) return;
  if (!parts_.inspector.CanPrefetch()) return;
  known->prefetching = true;
  parts_.tasks.Spawn("prefetch", RunPrefetch(PodInspector::Images::Of(pod)));
}

kube::asio::awaitable<void> PodReconciler::RunPrefetch(PodInspector::Images images) {
  // The result stays in the inspector's cache.
  auto fetched = co_await parts_.inspector.Prefetch(std::move(images));
  kube::IgnoreError(fetched, "it occurs again when the pod is placed, and is recorded then");
}

Async<Outcome> PodReconciler::RecordFailure(Pod pod, Error error, int attempt,
                                            std::chrono::milliseconds retry_period,
                                            const std::string& log) {
  kube::ObjectKey key = kube::KeyOf(pod);
  parts_.metrics.failed_image_inspections.Increment();
  parts_.events.Record(kube::ReferenceTo(pod), /*warning=*/true, api::kReasonInspectionError,
                       error.message());
  std::chrono::milliseconds delay = BackoffAfter(attempt, retry_period);
  VLOG(1) << log << " inspection failed, attempt " << attempt << ", again in " << delay.count()
          << " ms: " << kube::OneLine(error.message());
  if (KnownPod* known = parts_.known.Find(key)) {
    known->attempts = attempt;
    known->next_attempt = parts_.clock.Now() + delay;
  }
  placement::ApplyInspectionError(pod, error.message(), attempt);
  Result<> written = co_await kube::Replace(parts_.client, pod);
  // Attempts are counted without this write as well, and the next write contains the count.
  LOG_IF(WARNING, !written && !IsNotFound(written) && !IsConflict(written))
      << log << " cannot record a failed inspection: " << kube::OneLine(written.error().ToString());
  EndProcessing(key);
  co_return Outcome::After(delay);
}

Async<Outcome> PodReconciler::Write(Pod pod, placement::Release release, const std::string& log) {
  if (!release.released) co_return Outcome::Done();
  kube::ObjectKey key = kube::KeyOf(pod);
  Result<> written = co_await kube::Replace(parts_.client, pod);
  if (!written && kube::IsRefusal(written.error())) {
    // The API server will always refuse the pod with these changes.
    VLOG(1) << log
            << (release.additions ? " refused, decides again without additions: "
                                  : " refused, only the gates are removed: ")
            << kube::OneLine(written.error().message());
    RecordFailedRemoval(pod, written.error());
    KnownPod* refused = parts_.known.Find(key);
    if (release.additions && refused != nullptr) {
      // An admission policy may allow only certain tolerations. The next pass keeps the
      // requirement.
      refused->additions_refused = true;
      EndProcessing(key);
      co_return Outcome::After(kDecideAgainAfter);
    }
    std::optional<Pod> bare = parts_.pods.Get(key);
    if (!bare) co_return Outcome::Done();
    release = placement::ReleaseBare(*bare, api::kClusterGate);
    if (!release.released) co_return Outcome::Done();
    written = co_await kube::Replace(parts_.client, *bare);
  }
  EndProcessing(key);
  // Checks again, in case the cache still has the pod then.
  if (IsNotFound(written)) co_return Outcome::After(kRecheckAfter);

  KnownPod* known = parts_.known.Find(key);
  if (!written) {
    int conflicts = 0;
    if (known != nullptr && IsConflict(written)) conflicts = ++known->conflicts;
    if (!IsConflict(written) || conflicts >= kReportedConflicts)
      RecordFailedRemoval(pod, written.error());
    co_return written.error().Prefix("remove the scheduling gates");
  }
  kube::core::ObjectReference reference = kube::ReferenceTo(pod);
  for (const placement::PodEvent& event : release.events) {
    VLOG(1) << log << " released: " << event.reason << ": " << kube::OneLine(event.message);
    if (event.reason == api::kReasonShardTakeover) parts_.metrics.shard_takeovers.Increment();
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

void PodReconciler::EndProcessing(const kube::ObjectKey& key) {
  KnownPod* known = parts_.known.Find(key);
  if (known == nullptr || known->processing_since == kube::TimePoint()) return;
  std::chrono::duration<double> took = parts_.clock.Now() - known->processing_since;
  known->processing_since = {};
  parts_.metrics.time_to_process_gated_pod.Observe(took.count());
}

void PodReconciler::RecordFailedRemoval(const Pod& pod, const Error& error) {
  if (error.code() == Code::kCancelled || !limiter_.Allow(kube::KeyOf(pod), error.message()))
    return;
  parts_.events.Record(kube::ReferenceTo(pod), /*warning=*/true, api::kReasonGateRemovalFailed,
                       "Could not remove the scheduling gates: " + error.message());
}

}  // namespace cluster_controller
