// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/pod_reconciler.h"

#include <glog/logging.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "api/names.h"
#include "cluster-controller/timing.h"
#include "kube/base/join.h"
#include "kube/base/one_line.h"
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
using kube::Error;
using kube::Outcome;
using kube::Result;
using kube::core::Pod;
using writes::Written;
using namespace std::chrono_literals;

// A pod that the API server does not know any more should leave the cache within this time.
constexpr std::chrono::milliseconds kRecheckAfter = 30s;
// A write that fails with a conflict is decided again. It is an event only after this number of
// consecutive conflicts.
constexpr int kReportedConflicts = 4;
// After a write that was refused, the pod is decided again without additions.
constexpr std::chrono::milliseconds kDecideAgainAfter = 1ms;

// The interval of checks whether all additions can be made, after the start of the process.
constexpr std::chrono::milliseconds kAdditionsReady = 100ms;
// Of the name of an image, in an event.
constexpr size_t kShownImage = 256;

// After the failed inspection with number `attempt`.
std::chrono::milliseconds BackoffAfter(int attempt, std::chrono::milliseconds retry_period) {
  const auto& parts = kBackoffParts;
  constexpr int kAllParts = std::accumulate(parts.begin(), parts.end(), 0);
  int last = static_cast<int>(parts.size());
  return retry_period * parts[static_cast<size_t>(std::clamp(attempt, 1, last) - 1)] / kAllParts;
}

// How long the pod may still await the gates of other controllers; the API server set its creation.
std::chrono::seconds AwaitingLeft(const Pod& pod, kube::WallTime now) {
  auto today = std::chrono::ceil<std::chrono::seconds>(now.time_since_epoch());
  std::chrono::seconds created{pod.metadata().creation_timestamp().seconds()};
  created = std::clamp(created, today - kMaxAwaitingOtherGates, today);
  return created + kMaxAwaitingOtherGates - today;
}

placement::PodEvent FindingEvent(const PodImages& images) {
  // The names of images are text of tenants.
  const std::string image = kube::OneLine(images.wrong_image.substr(0, kShownImage));
  const std::string avoided = placement::Join(images.avoided);
  const std::string where = "; kubectl placement inspect " + image + " --deep shows its programs";
  if (images.believes_indexes) {
    return {api::kReasonImageFindingIgnored,
            "Placed by the indexes of the images, although they do not run on " + avoided +
                " (found for " + image + "): no architecture that nodes have is left" + where,
            /*warning=*/true};
  }
  return {api::kReasonImageFinding, "Not placed on " + avoided + ", which the index of " + image +
                                        " names: the program in the image does not run there" +
                                        where};
}

bool ShardIsDone(const Pod& pod) {
  return placement::LabelOf(pod, api::kLocalGateLabel) == api::kRemoved;
}

}  // namespace

struct PodReconciler::Placing {
  Pod pod;
  bool take_over = false;  // does the shard's work too
  const std::string& log;
  SharedConfig cluster;

  // The number of this inspection of the images.
  int attempt = 0;
  // The API server has refused the pod with additions.
  bool additions_refused = false;
  // The pod as the API server has it, if `pod` may have additions, with their events.
  std::optional<Pod> stored;
  bool added = false;
  std::vector<placement::PodEvent> events;
  // The namespace's; nullptr if they are not needed.
  std::shared_ptr<const std::vector<api::PodPlacementConfig>> configs;
  // Refers to `cluster` and `configs`.
  placement::ClusterDecision decision;

  // The deletion of the ClusterPodPlacementConfig waits for the pod.
  bool config_being_deleted() const { return cluster->metadata().has_deletion_timestamp(); }
  bool without_shard() const { return take_over || !ShardIsDone(pod); }
};

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
  bool opts_out = placement::OptsOut(*pod, ClusterConfig()->spec.excluded_scheduler_names);
  bool ignored = placement::IsIgnored(*pod, parts_.operator_namespace);
  if (!ignored && !opts_out && !placement::IsGatedByWebhook(*pod)) {
    std::string ns = pod->metadata().namespace_();
    Result<bool> excluded = co_await IsExcluded(std::move(ns));
    if (!excluded) co_return excluded.error();
    opts_out = *excluded;
  }
  if (opts_out) {
    Result<Outcome> released = co_await ReleaseOptedOut(std::move(*pod), request.log);
    co_return released;
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
      // Its shard may work again after a takeover has begun.
      parts_.inspector.Forget(request.key);
      if (cluster_gate) Prefetch(*pod);
      auto wait = std::chrono::ceil<std::chrono::milliseconds>(left);
      VLOG(1) << request.log << " waits for its shard, at most " << wait.count() << " ms";
      co_return Outcome::After(wait);
    }
  }
  Result<Outcome> placed = co_await Place(std::move(*pod), /*take_over=*/local_gate, request.log);
  co_return placed;
}

Async<Outcome> PodReconciler::ReleaseOptedOut(Pod pod, const std::string& log) {
  Placing placing{.pod = std::move(pod), .log = log, .cluster = ClusterConfig()};
  if (const KnownPod* known = parts_.known.Find(kube::KeyOf(placing.pod)))
    placing.additions_refused = known->additions_refused;
  End end = MakeAdditions(placing);
  if (end) co_return std::move(*end);
  placement::Release release = placement::ReleaseIgnored(placing.pod, api::kClusterGate);
  AddAdditions(placing, release);
  VLOG(1) << log << " opts out of placement: its gates are removed";
  Result<Outcome> written = co_await Write(std::move(placing.pod), std::move(release), log);
  co_return written;
}

Async<Outcome> PodReconciler::Place(Pod pod, bool take_over, const std::string& log) {
  Placing placing{
      .pod = std::move(pod), .take_over = take_over, .log = log, .cluster = ClusterConfig()};
  End end = AwaitOtherGates(placing);
  if (!end) end = Begin(placing);
  if (!end) end = MakeAdditions(placing);
  if (!end) end = co_await Inspect(placing);
  if (!end) end = co_await ReadConfigs(placing);
  if (!end) end = co_await AskRules(placing);
  if (end) co_return std::move(*end);

  placement::Release release = Decide(placing);
  Result<Outcome> written = co_await Write(std::move(placing.pod), std::move(release), log);
  co_return written;
}

PodReconciler::End PodReconciler::AwaitOtherGates(Placing& placing) {
  const Pod& pod = placing.pod;
  kube::ObjectKey key = kube::KeyOf(pod);
  std::vector<std::string> others = placement::OtherGates(pod);
  if (others.empty() || !placement::HasGate(pod, api::kClusterGate)) {
    EndAwaiting(key);
    return std::nullopt;
  }
  std::chrono::seconds left = AwaitingLeft(pod, parts_.clock.WallNow());
  std::string& not_awaited = placing.decision.not_awaited;
  if (pod.metadata().has_deletion_timestamp()) {
    not_awaited = "the pod is being deleted";
  } else if (placing.config_being_deleted()) {
    not_awaited = "the ClusterPodPlacementConfig is being deleted";
  } else if (left == 0s) {
    not_awaited = "the pod is " + std::to_string(kMaxAwaitingOtherGates.count()) + " hours old";
  } else if (!parts_.known.AwaitOtherGates(key)) {
    not_awaited = "too many pods wait for other gates, at most " +
                  std::to_string(kMaxAwaiting.per_namespace) + " of a namespace and " +
                  std::to_string(kMaxAwaiting.total) + " of the cluster";
  }
  placing.decision.await_other_gates = not_awaited.empty();
  if (!placing.decision.await_other_gates) {
    EndAwaiting(key);
    return std::nullopt;
  }
  UpdateGatedMetric();
  const KnownPod* known = parts_.known.Find(key);
  bool decided = known != nullptr && known->decided;
  if (!decided && !placement::IsDecided(pod, kMaxAttempts)) return std::nullopt;
  // Its author may have decided it while it waited for a result.
  parts_.inspector.Forget(key);
  VLOG(1) << placing.log << " waits for the gates of other controllers: " << kube::Join(others, 8);
  return Outcome::After(left);
}

void PodReconciler::EndAwaiting(const kube::ObjectKey& key) {
  parts_.known.EndAwaiting(key);
  UpdateGatedMetric();
}

PodReconciler::End PodReconciler::Begin(Placing& placing) {
  int attempts = placement::InspectionTries(placing.pod, kMaxAttempts);
  if (KnownPod* known = parts_.known.Find(kube::KeyOf(placing.pod))) {
    kube::TimePoint now = parts_.clock.Now();
    if (now < known->next_attempt && !placing.config_being_deleted()) {
      auto wait = std::chrono::ceil<std::chrono::milliseconds>(known->next_attempt - now);
      VLOG(1) << placing.log << " inspects its images again in " << wait.count() << " ms";
      return Outcome::After(wait);
    }
    if (known->processing_since == kube::TimePoint()) known->processing_since = now;
    placing.additions_refused = known->additions_refused;
    attempts = std::max(attempts, known->attempts);
  }
  placing.attempt = std::min(attempts + 1, kMaxAttempts);
  return std::nullopt;
}

// The first step that changes the pod: additions may say on which architectures it runs.
PodReconciler::End PodReconciler::MakeAdditions(Placing& placing) {
  for (const std::unique_ptr<PodAdditions>& additions : parts_.additions) {
    if (additions->WaitLeft() > kube::Duration::zero()) return Outcome::After(kAdditionsReady);
    if (placing.additions_refused || !additions->Any()) continue;
    if (!placing.stored) placing.stored = placing.pod;
    placing.added |= additions->AddTo(placing.pod, placing.events);
  }
  return std::nullopt;
}

kube::asio::awaitable<PodReconciler::End> PodReconciler::Inspect(Placing& placing) {
  const Pod& pod = placing.pod;
  if (!placement::HasGate(pod, api::kClusterGate) || !placement::NeedsInspection(pod))
    co_return std::nullopt;
  // A requirement that is set already is not worth further attempts.
  bool last = placing.attempt == kMaxAttempts || !placement::NeedsRequirement(pod);
  auto images = co_await parts_.inspector.Inspect(pod, last);
  if (images && !*images) {
    VLOG(1) << placing.log << " waits for the inspection of its images";
    co_return Outcome::After(kResultOverdue);
  }
  if (images) {
    placing.decision.platforms = std::move((*images)->platforms);
    if (!placing.cluster->WantsAmd64Levels()) placing.decision.platforms->amd64_level = 0;
    placing.decision.stale_inspection = std::move((*images)->stale);
    if (!(*images)->avoided.empty()) placing.events.push_back(FindingEvent(**images));
    co_return std::nullopt;
  }
  if (!last && !placing.config_being_deleted()) {
    Result<Outcome> later = co_await RecordFailedInspection(placing, images.error());
    co_return later;
  }
  const Error error = images.error();
  parts_.metrics.failed_image_inspections.Increment();
  VLOG(1) << placing.log << " gives up the inspection of its images after attempt "
          << placing.attempt << ": " << kube::OneLine(error.message());
  placing.decision.inspection_error = error.message();
  placing.decision.inspection_tries = placing.attempt;
  co_return std::nullopt;
}

// If the shard has processed the pod, it has set the preferences, and names the config whose
// tolerations apply.
kube::asio::awaitable<PodReconciler::End> PodReconciler::ReadConfigs(Placing& placing) {
  const Pod& pod = placing.pod;
  std::string tolerations_of(placement::AnnotationOf(pod, api::kLocalTolerationsAnnotation));
  if (!placing.without_shard() && tolerations_of.empty()) co_return std::nullopt;
  std::string ns = pod.metadata().namespace_();
  std::vector<std::string> expected = placement::GatingConfigs(pod);
  if (kube::IsObjectName(tolerations_of)) expected.push_back(std::move(tolerations_of));
  auto read = co_await parts_.configs.Read(std::move(ns), std::move(expected));
  if (!read) co_return read.error();
  placing.configs = std::move(*read);
  placing.decision.configs = placement::ConfigsFor(pod, *placing.configs);
  co_return std::nullopt;
}

kube::asio::awaitable<PodReconciler::End> PodReconciler::AskRules(Placing& placing) {
  placement::MatchingConfigs& configs = placing.decision.configs;
  if (!placing.without_shard() || !placement::HasOpenRules(configs)) co_return std::nullopt;
  const Pod& stored = placing.stored ? *placing.stored : placing.pod;
  Result<std::chrono::milliseconds> wait = co_await parts_.rules.Ask(stored, configs);
  if (IsNotFound(wait)) co_return Outcome::After(kRecheckAfter);
  if (!wait) co_return wait.error().Prefix("ask about the rules of PodPlacementConfigs");
  if (*wait == 0ms) co_return std::nullopt;
  VLOG(1) << placing.log << " waits " << wait->count() << " ms for rules to be evaluated";
  co_return Outcome::After(*wait);
}

placement::Release PodReconciler::Decide(Placing& placing) {
  placement::ClusterDecision& decision = placing.decision;
  decision.take_over_shard = placing.take_over;
  decision.preferences_decided = !placing.without_shard();
  decision.cluster_platforms = placing.cluster->Preferences();
  decision.namespace_takes_precedence = placing.cluster->NamespaceTakesPrecedence();
  decision.cluster_tolerations = placing.cluster->Tolerations();
  decision.without_tolerations = placing.additions_refused;
  decision.fallback_architecture = placing.cluster->spec.fallback_architecture;
  placement::Release release =
      placement::HasGate(placing.pod, api::kClusterGate)
          ? placement::ReleaseCluster(placing.pod, decision)
          : placement::TakeOverLocal(placing.pod, decision.configs, decision.without_tolerations);
  AddAdditions(placing, release);
  return release;
}

void PodReconciler::AddAdditions(const Placing& placing, placement::Release& release) {
  release.events.insert(release.events.begin(), placing.events.begin(), placing.events.end());
  release.additions = release.additions || placing.added;
}

Async<Outcome> PodReconciler::Write(Pod pod, placement::Release release, const std::string& log) {
  kube::ObjectKey key = kube::KeyOf(pod);
  Result<Written> written = co_await writer_.Write(pod, release, log);
  EndProcessing(key);
  // Checks again, in case the cache still has the pod then.
  if (IsNotFound(written)) co_return Outcome::After(kRecheckAfter);

  KnownPod* known = parts_.known.Find(key);
  if (!written) {
    int conflicts = 0;
    if (known != nullptr && IsConflict(written)) conflicts = ++known->conflicts;
    if (!IsConflict(written) || conflicts >= kReportedConflicts)
      writer_.RecordFailure(pod, written.error());
    co_return written.error().Prefix("remove the scheduling gates");
  }
  if (*written == Written::kNotGated) co_return Outcome::Done();
  if (*written == Written::kAdditionsRefused) {
    // An admission policy may allow only certain tolerations. The next pass keeps the requirement.
    if (known != nullptr) known->additions_refused = true;
    co_return Outcome::After(kDecideAgainAfter);
  }
  for (const placement::PodEvent& event : release.events)
    if (event.reason == api::kReasonShardTakeover) parts_.metrics.shard_takeovers.Increment();
  if (known != nullptr) known->conflicts = 0;
  if (release.awaits_other_gates) {
    if (known != nullptr) known->decided = true;
    parts_.inspector.Forget(key);
    co_return Outcome::After(AwaitingLeft(pod, parts_.clock.WallNow()));
  }
  if (release.placed) parts_.offered.Check(pod);
  parts_.metrics.processed_pods.Increment();
  if (known != nullptr) {
    known->released = true;
    std::chrono::duration<double> waited = parts_.clock.Now() - known->counted_since;
    parts_.metrics.time_to_release_pod.Observe(waited.count());
  }
  co_return Outcome::Done();
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
  size_t awaiting = parts_.known.awaiting();
  parts_.metrics.pods_awaiting_other_gates.Set(static_cast<double>(awaiting));
  parts_.metrics.pods_gated.Set(static_cast<double>(parts_.known.size() - awaiting));
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
  Result<bool> selected = co_await parts_.namespaces.IsSelected(std::move(ns), std::move(selector));
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
  bool awaits_others =
      !placement::OtherGates(pod).empty() && placement::IsDecided(pod, kMaxAttempts);
  if (placement::HasGate(pod, api::kClusterGate) && !awaits_others) {
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

Async<Outcome> PodReconciler::RecordFailedInspection(Placing& placing, Error error) {
  Pod& pod = placing.stored ? *placing.stored : placing.pod;
  kube::ObjectKey key = kube::KeyOf(pod);
  parts_.metrics.failed_image_inspections.Increment();
  parts_.events.Record(kube::ReferenceTo(pod), /*warning=*/true, api::kReasonInspectionError,
                       error.message());
  std::chrono::milliseconds delay =
      BackoffAfter(placing.attempt, placing.cluster->spec.inspection_retry_period);
  VLOG(1) << placing.log << " inspection failed, attempt " << placing.attempt << ", again in "
          << delay.count() << " ms: " << kube::OneLine(error.message());
  if (KnownPod* known = parts_.known.Find(key)) {
    known->attempts = placing.attempt;
    known->next_attempt = parts_.clock.Now() + delay;
  }
  placement::ApplyInspectionError(pod, error.message(), placing.attempt);
  Result<> written = co_await kube::Replace(parts_.client, pod);
  // Attempts are counted without this write as well, and the next write contains the count.
  LOG_IF(WARNING, !written && !IsNotFound(written) && !IsConflict(written))
      << placing.log
      << " cannot record a failed inspection: " << kube::OneLine(written.error().ToString());
  EndProcessing(key);
  co_return Outcome::After(delay);
}

void PodReconciler::EndProcessing(const kube::ObjectKey& key) {
  KnownPod* known = parts_.known.Find(key);
  if (known == nullptr || known->processing_since == kube::TimePoint()) return;
  std::chrono::duration<double> took = parts_.clock.Now() - known->processing_since;
  known->processing_since = {};
  parts_.metrics.time_to_process_gated_pod.Observe(took.count());
}

}  // namespace cluster_controller
