// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/template_reconciler.h"

#include <glog/logging.h>

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "api/names.h"
#include "api/templates.h"
#include "cluster-controller/template_key.h"
#include "cluster-controller/timing.h"
#include "kube/base/one_line.h"
#include "kube/client/typed.h"
#include "kube/types/core.pb.h"
#include "kube/types/workloads.h"
#include "placement/matching_configs.h"
#include "placement/templates.h"

namespace cluster_controller {
namespace {

using kube::Async;
using kube::ObjectKey;
using kube::Outcome;
using kube::Result;
using kube::core::Pod;
using kube::workloads::DaemonSet;
using kube::workloads::Job;

bool IsOn(const api::ClusterPodPlacementConfig& config, const Job&) {
  return config.Templates().suspended_jobs;
}

bool IsOn(const api::ClusterPodPlacementConfig& config, const DaemonSet&) {
  return config.DaemonSets().patch_templates;
}

std::string ListOf(const placement::ArchitectureSet& architectures) {
  std::string list;
  for (const std::string& each : architectures) list += (list.empty() ? "" : ",") + each;
  return list;
}

}  // namespace

bool WantsTemplate(const Job& job, kube::WallTime) { return placement::IsUnstarted(job); }

bool WantsTemplate(const DaemonSet& daemon_set, kube::WallTime now) {
  std::chrono::seconds created(daemon_set.metadata().creation_timestamp().seconds());
  auto today = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch());
  // A later time is of a clock that is ahead.
  return placement::IsUnchanged(daemon_set) && created > today - kNewDaemonSet;
}

Async<Outcome> TemplateReconciler::Reconcile(kube::Request request) {
  ObjectKey key = request.key;
  std::optional<NamedWorkload> named = ParseTemplateKey(key);
  auto attempts = attempts_.find(key);
  if (attempts != attempts_.end() && parts_.clock.Now() < attempts->second.next) {
    auto wait = attempts->second.next - parts_.clock.Now();
    co_return Outcome::After(std::chrono::ceil<std::chrono::milliseconds>(wait));
  }
  // OnTurn() wakes it.
  if (!named || !turns_.Enter(key)) co_return Outcome::Done();

  Result<End> end = End(Outcome::Done());
  if (named->kind == kJobs) {
    end = co_await Place<Job>(key, std::move(named->key), request.log);
  } else {
    end = co_await Place<DaemonSet>(key, std::move(named->key), request.log);
  }
  if (end && !*end) co_return Outcome::After(kResultOverdue);
  parts_.inspector.Forget(key);
  turns_.Leave(key);
  if (!end) co_return end.error();
  if (!(*end)->delay()) attempts_.erase(key);
  co_return **end;
}

void TemplateReconciler::Forget(const ObjectKey& key) {
  attempts_.erase(key);
  parts_.inspector.Forget(key);
  turns_.Leave(key);
}

template <class Workload>
Async<TemplateReconciler::End> TemplateReconciler::Place(ObjectKey key, ObjectKey name,
                                                         const std::string& log) {
  std::string ns = name.ns;
  Result<Workload> read = co_await kube::Get<Workload>(parts_.client, std::move(name));
  if (IsNotFound(read)) co_return End(Outcome::Done());
  if (!read) co_return read.error();
  Workload workload = std::move(*read);
  std::shared_ptr<const api::ClusterPodPlacementConfig> config = config_;
  if (config == nullptr || config->metadata().has_deletion_timestamp() ||
      !IsOn(*config, workload) || !WantsTemplate(workload, parts_.clock.WallNow()) ||
      decided_.Find(workload.metadata().uid()) != nullptr)
    co_return End(Outcome::Done());

  // What placement would not do for its pods, and what its author excludes.
  Pod pod = placement::PodOf(ns, workload.spec().template_());
  pod.mutable_metadata()->set_name(key.name);
  if (workload.metadata().labels().contains(std::string(api::kExcludeLabel)) ||
      !placement::TakesRequirement(pod, config->spec.excluded_scheduler_names,
                                   parts_.operator_namespace))
    co_return End(Outcome::Done());
  std::optional<kube::meta::LabelSelector> selector = config->spec.namespace_selector;
  Result<bool> selected = co_await parts_.namespaces.IsSelected(ns, std::move(selector));
  if (!selected) co_return selected.error();
  if (!*selected) co_return End(Outcome::Done());

  auto images = co_await parts_.inspector.Inspect(pod);
  if (images && !*images) {
    VLOG(1) << log << " waits for the inspection of its images";
    co_return End();
  }
  if (!images)
    co_return Fail(key, workload, "its images could not be inspected: " + images.error().message(),
                   log);
  // Its pods would not be inspected again.
  if (!(*images)->stale.empty())
    co_return Fail(key, workload, "its images are known only from earlier: " + (*images)->stale,
                   log);
  PodImages known = std::move(**images);
  Result<End> written = co_await Write(key, std::move(workload), std::move(known), log);
  co_return written;
}

template <class Workload>
Async<TemplateReconciler::End> TemplateReconciler::Write(ObjectKey key, Workload workload,
                                                         PodImages images, const std::string& log) {
  std::string ns = workload.metadata().namespace_();
  placement::TemplateTolerations tolerations;
  watches::FreshConfigs::Snapshot configs;
  std::shared_ptr<const api::ClusterPodPlacementConfig> config = config_;
  // The pods of a DaemonSet are not placed, so they get no tolerations either.
  if constexpr (std::is_same_v<Workload, Job>) {
    auto read = co_await parts_.configs.Read(ns, std::vector<std::string>());
    if (!read) co_return read.error();
    configs = std::move(*read);
    Pod pod = placement::PodOf(ns, workload.spec().template_());
    tolerations.configs = placement::ConfigsFor(pod, *configs);
    if (config != nullptr) tolerations.of_cluster = config->Tolerations();
  }
  auto* spec = workload.mutable_spec();
  placement::Requirement required =
      placement::RequireInTemplate(ns, images.platforms, tolerations, *spec->mutable_template_());
  if (required.result != placement::RequirementResult::kSet) {
    GiveUp(workload, required.result == placement::RequirementResult::kNowhere
                         ? "its images have no architecture in common"
                         : "its required node affinity has too many terms");
    co_return End(Outcome::Done());
  }
  std::string architectures = ListOf(required.architectures);
  (*workload.mutable_metadata()
        ->mutable_annotations())[std::string(api::kTemplateArchitecturesAnnotation)] =
      architectures;
  Result<> written = co_await kube::Replace(parts_.client, workload);
  if (IsNotFound(written)) co_return End(Outcome::Done());
  if (IsConflict(written)) co_return written.error();
  if (!written)
    co_return Fail(key, workload, "the API server refused it: " + written.error().message(), log);
  decided_.Put(workload.metadata().uid(), true);
  parts_.metrics.changed_templates.Increment();
  parts_.events.Record(kube::ReferenceTo(workload), /*warning=*/false, api::kReasonTemplateSet,
                       "Required one of the architectures in the pod template: " + architectures);
  co_return End(Outcome::Done());
}

template <class Workload>
TemplateReconciler::End TemplateReconciler::Fail(const ObjectKey& key, const Workload& workload,
                                                 const std::string& why, const std::string& log) {
  Attempts& attempts = attempts_[key];
  ++attempts.failed;
  VLOG(1) << log << " attempt " << attempts.failed << ": " << kube::OneLine(why);
  if (attempts.failed >= kMaxAttempts || config_ == nullptr) {
    GiveUp(workload, why);
    return Outcome::Done();
  }
  std::chrono::milliseconds delay = config_->spec.inspection_retry_period / (kMaxAttempts - 1);
  attempts.next = parts_.clock.Now() + delay;
  return Outcome::After(delay);
}

template <class Workload>
void TemplateReconciler::GiveUp(const Workload& workload, const std::string& why) {
  decided_.Put(workload.metadata().uid(), true);
  parts_.metrics.unchanged_templates.Increment();
  parts_.events.Record(kube::ReferenceTo(workload), /*warning=*/true, api::kReasonTemplateUnchanged,
                       "The pod template is unchanged: " + why);
}

}  // namespace cluster_controller
