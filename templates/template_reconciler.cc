// SPDX-License-Identifier: Apache-2.0
#include "templates/template_reconciler.h"

#include <glog/logging.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "api/names.h"
#include "api/templates.h"
#include "cluster-controller/timing.h"
#include "kube/base/one_line.h"
#include "kube/client/typed.h"
#include "kube/types/workloads.h"
#include "placement/architecture.h"
#include "placement/matching_configs.h"
#include "placement/requirement.h"
#include "placement/templates.h"
#include "templates/template_key.h"
#include "templates/workload_watch.h"

namespace templates {
namespace {

using kube::Async;
using kube::ObjectKey;
using kube::Outcome;
using kube::Result;
using kube::core::ObjectReference;
using kube::core::Pod;
using kube::workloads::DaemonSet;
using kube::workloads::Job;

template <class Workload>
constexpr std::string_view kKind = std::is_same_v<Workload, Job> ? kJobs : kDaemonSets;
template <class Workload>
constexpr std::chrono::seconds kNew = std::is_same_v<Workload, Job> ? kNewJob : kNewDaemonSet;

// The API server, or a policy of it, will refuse the same write again.
bool IsRefused(const Result<>& written) {
  return FailedWith(written, kube::Code::kInvalid) ||
         FailedWith(written, kube::Code::kPermissionDenied);
}

}  // namespace

std::shared_ptr<const api::ClusterPodPlacementConfig> TemplateReconciler::ConfigFor(
    std::string_view kind) const {
  if (config_ == nullptr) return nullptr;
  bool on =
      kind == kJobs ? config_->Templates().suspended_jobs : config_->DaemonSets().patch_templates;
  return on ? config_ : nullptr;
}

bool TemplateReconciler::IsNew(const kube::meta::ObjectMeta& workload,
                               std::chrono::seconds age) const {
  std::chrono::seconds created(workload.creation_timestamp().seconds());
  auto now = std::chrono::floor<std::chrono::seconds>(parts_.clock.WallNow().time_since_epoch());
  // A later time is of a clock that is ahead.
  return created > now - age;
}

template <class Workload>
bool TemplateReconciler::Takes(const Workload& workload) {
  std::shared_ptr<const api::ClusterPodPlacementConfig> config = ConfigFor(kKind<Workload>);
  if (config == nullptr || !placement::MayTakeRequirement(workload) ||
      workload.metadata().labels().contains(std::string(api::kExcludeLabel)) ||
      decided_.Find(workload.metadata().uid()) != nullptr) {
    return false;
  }
  Pod pod = placement::PodOf(workload.metadata().namespace_(), workload.spec().template_());
  return placement::TakesRequirement(pod, config->spec.excluded_scheduler_names,
                                     parts_.operator_namespace);
}

bool TemplateReconciler::Wants(const Job& job) {
  return IsNew(job.metadata(), kNewJob) && Takes(job);
}

bool TemplateReconciler::Wants(const DaemonSet& daemon_set) {
  return IsNew(daemon_set.metadata(), kNewDaemonSet) && Takes(daemon_set);
}

bool TemplateReconciler::LeaveOut(const ObjectKey& key, ObjectReference workload, Limit limit) {
  metrics_.templates_left_out.Increment();
  if (told_.Find(workload.uid()) != nullptr) return false;
  LeftOut* left_out = left_out_.Add(key);
  if (left_out == nullptr) return false;
  *left_out = {std::move(workload), limit};
  return true;
}

Async<Outcome> TemplateReconciler::Reconcile(kube::Request request) {
  ObjectKey key = request.key;
  std::optional<NamedWorkload> named = ParseTemplateKey(key);
  if (!named) co_return Outcome::Done();
  std::optional<LeftOut> left_out = left_out_.Remove(key);
  // There may be room by now.
  if (left_out && (left_out->limit == Limit::kSize || waiting_.Add(key) == nullptr)) {
    // It may have waited before it was too large.
    waiting_.Remove(key);
    parts_.inspector.Forget(key);
    turns_.Leave(key);
    Result<> told = co_await TellLeftOut(std::move(named->kind), std::move(*left_out));
    if (!told) co_return told.error();
    co_return Outcome::Done();
  }
  // It may have changed since the pass that decided it.
  Attempts* attempts = waiting_.Add(key);
  if (attempts == nullptr) co_return Outcome::Done();
  Result<End> end = End(Outcome::Done());
  if (ConfigFor(named->kind) != nullptr) {
    if (parts_.clock.Now() < attempts->next) {
      auto wait = attempts->next - parts_.clock.Now();
      co_return Outcome::After(std::chrono::ceil<std::chrono::milliseconds>(wait));
    }
    // OnTurn() wakes it.
    if (!turns_.Enter(key)) co_return Outcome::Done();
    if (named->kind == kJobs) {
      end = co_await Place<Job>(key, std::move(named->key), request.log);
    } else {
      end = co_await Place<DaemonSet>(key, std::move(named->key), request.log);
    }
    if (end && !*end) co_return Outcome::After(cluster_controller::kResultOverdue);
  }
  parts_.inspector.Forget(key);
  turns_.Leave(key);
  if (!end) co_return end.error();
  if (!(*end)->delay()) waiting_.Remove(key);
  co_return **end;
}

Async<> TemplateReconciler::TellLeftOut(std::string kind, LeftOut left_out) {
  std::shared_ptr<const api::ClusterPodPlacementConfig> config = ConfigFor(kind);
  if (config == nullptr) co_return kube::Ok();
  const ObjectReference& workload = left_out.workload;
  std::string ns = workload.namespace_();
  std::optional<kube::meta::LabelSelector> selector = config->spec.namespace_selector;
  Result<std::optional<bool>> selected =
      co_await parts_.namespaces.Decide(std::move(ns), std::move(selector));
  if (!selected) co_return selected.error();
  if (!selected->value_or(false)) co_return kube::Ok();
  if (left_out.limit == Limit::kSize) {
    decided_.Put(workload.uid(), true);
    Tell(workload, "the object is larger than " + std::to_string(kMaxWorkloadBytes >> 10) + " KiB");
    co_return kube::Ok();
  }
  told_.Put(workload.uid(), true);
  constexpr WaitingOptions kMost;
  Tell(workload, "too many wait for their turn (at most " + std::to_string(kMost.per_namespace) +
                     " of a namespace, " + std::to_string(kMost.total) +
                     " of the cluster); it gets its turn if there is room in time");
  co_return kube::Ok();
}

template <class Workload>
Async<TemplateReconciler::End> TemplateReconciler::Place(ObjectKey key, ObjectKey name,
                                                         const std::string& log) {
  kube::ApiRequest get{.target = kube::ResourceOf<Workload>::value.Path(name.ns, name.name),
                       .accept = std::string(kube::kContentType<Workload>)};
  Result<kube::ApiResponse> read = co_await parts_.client.Call(std::move(get));
  if (IsNotFound(read)) co_return End(Outcome::Done());
  if (!read) co_return read.error();
  // It was smaller when it was watched: the watch will show that.
  if (read->body.size() > kMaxWorkloadBytes) co_return End(Outcome::Done());
  Result<Workload> decoded = kube::Decode<Workload>(read->body);
  *read = {};
  if (!decoded) co_return decoded.error();
  Workload workload = std::move(*decoded);
  if (!Takes(workload)) co_return End(Outcome::Done());
  std::shared_ptr<const api::ClusterPodPlacementConfig> config = config_;
  Pod pod = placement::PodOf(name.ns, workload.spec().template_());
  pod.mutable_metadata()->set_name(key.name);
  std::optional<kube::meta::LabelSelector> selector = config->spec.namespace_selector;
  Result<std::optional<bool>> selected =
      co_await parts_.namespaces.Decide(name.ns, std::move(selector));
  if (!selected) co_return selected.error();
  // Its pods are placed by their gates, if at all.
  if (!selected->value_or(false)) co_return End(Outcome::Done());
  if (!IsNew(workload.metadata(), kNew<Workload>)) {
    GiveUpLate(workload);
    co_return End(Outcome::Done());
  }

  auto images = co_await parts_.inspector.Inspect(pod);
  if (images && !*images) {
    VLOG(1) << log << " waits for the inspection of its images";
    co_return End();
  }
  if (!images)
    co_return Fail(key, workload, "its images could not be inspected: " + images.error().message(),
                   log);
  // When its pods are created, other nodes may have the image.
  if ((*images)->from_nodes) {
    GiveUp(workload, "an image of it is known only from the nodes that have it now");
    co_return End(Outcome::Done());
  }
  // Its pods would not be inspected again.
  if (!(*images)->stale.empty())
    co_return Fail(key, workload, "its images are known only from earlier: " + (*images)->stale,
                   log);
  placement::CommonPlatforms platforms = std::move((*images)->platforms);
  if (!config->WantsAmd64Levels()) platforms.amd64_level = 0;
  Result<End> written =
      co_await Write(key, std::move(workload), std::move(pod), std::move(platforms), log);
  co_return written;
}

template <class Workload>
Async<TemplateReconciler::End> TemplateReconciler::Write(ObjectKey key, Workload workload, Pod pod,
                                                         placement::CommonPlatforms images,
                                                         const std::string& log) {
  watches::FreshConfigs::Snapshot configs;
  // The pods of a DaemonSet are not placed, so they get no tolerations either.
  if constexpr (std::is_same_v<Workload, Job>) {
    std::string ns = key.ns;
    std::vector<std::string> expected;
    auto read = co_await parts_.configs.Read(std::move(ns), std::move(expected));
    if (!read) co_return read.error();
    configs = std::move(*read);
  }
  // Secrets and configs may have been slow to read.
  std::shared_ptr<const api::ClusterPodPlacementConfig> config = ConfigFor(kKind<Workload>);
  if (config == nullptr) co_return End(Outcome::Done());
  if (!IsNew(workload.metadata(), kNew<Workload>)) {
    GiveUpLate(workload);
    co_return End(Outcome::Done());
  }
  placement::TemplateTolerations tolerations;
  if constexpr (std::is_same_v<Workload, Job>) {
    tolerations = {.configs = placement::ConfigsFor(pod, *configs),
                   .of_cluster = config->Tolerations()};
  }
  placement::Requirement required = placement::RequireInTemplate(
      key.ns, images, tolerations, *workload.mutable_spec()->mutable_template_());
  if (required.result != placement::RequirementResult::kSet) {
    GiveUp(workload, required.result == placement::RequirementResult::kNowhere
                         ? "its images have no architecture in common"
                         : "its required node affinity has too many terms");
    co_return End(Outcome::Done());
  }
  auto& annotations = *workload.mutable_metadata()->mutable_annotations();
  annotations[std::string(api::kTemplateArchitecturesAnnotation)] =
      placement::Join(required.architectures);
  Result<> written = co_await kube::Replace(parts_.client, workload);
  if (IsNotFound(written)) co_return End(Outcome::Done());
  if (IsRefused(written))
    co_return Fail(key, workload, "the API server refused it: " + written.error().message(), log);
  if (!written) co_return written.error().Prefix("set the requirement in the pod template");
  decided_.Put(workload.metadata().uid(), true);
  metrics_.changed_templates.Increment();
  parts_.events.Record(kube::ReferenceTo(workload), /*warning=*/false, api::kReasonTemplateSet,
                       "Required one of the architectures in the pod template: " +
                           placement::DescribeRequirement(required));
  co_return End(Outcome::Done());
}

template <class Workload>
TemplateReconciler::End TemplateReconciler::Fail(const ObjectKey& key, const Workload& workload,
                                                 const std::string& why, const std::string& log) {
  Attempts* attempts = waiting_.Add(key);
  if (attempts == nullptr || config_ == nullptr) return Outcome::Done();
  ++attempts->failed;
  VLOG(1) << log << " attempt " << attempts->failed << ": " << kube::OneLine(why);
  using std::chrono::milliseconds;
  constexpr int kMax = cluster_controller::kMaxAttempts;
  milliseconds delay = std::min(milliseconds(config_->spec.inspection_retry_period) / (kMax - 1),
                                milliseconds(kNew<Workload>) / kMax);
  // The next one would come too late.
  auto left = kNew<Workload> - std::chrono::ceil<std::chrono::seconds>(delay);
  if (attempts->failed >= kMax || !IsNew(workload.metadata(), left)) {
    GiveUp(workload, why);
    return Outcome::Done();
  }
  attempts->next = parts_.clock.Now() + delay;
  return Outcome::After(delay);
}

template <class Workload>
void TemplateReconciler::GiveUp(const Workload& workload, const std::string& why) {
  decided_.Put(workload.metadata().uid(), true);
  metrics_.unchanged_templates.Increment();
  Tell(kube::ReferenceTo(workload), why);
}

template <class Workload>
void TemplateReconciler::GiveUpLate(const Workload& workload) {
  decided_.Put(workload.metadata().uid(), true);
  metrics_.templates_left_out.Increment();
  Tell(kube::ReferenceTo(workload), "its images were not known in the first " +
                                        std::to_string(kNew<Workload>.count()) + " seconds");
}

void TemplateReconciler::Tell(const kube::core::ObjectReference& workload, const std::string& why) {
  parts_.events.Record(workload, /*warning=*/true, api::kReasonTemplateUnchanged,
                       "The pod template is unchanged: " + why);
}

}  // namespace templates
