// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/templates.h"

#include <glog/logging.h>

#include <chrono>
#include <utility>
#include <vector>

#include "cluster-controller/template_key.h"
#include "placement/templates.h"

namespace cluster_controller {
namespace {

using kube::ObjectKey;
using kube::Result;
using namespace std::chrono_literals;

constexpr char kName[] = "pod-templates";
constexpr int kWorkers = 2;
// The API server knows no selector for Jobs that never started. Most that are done have one
// successful pod or more.
constexpr char kNoSuccess[] = "status.successful=0";

}  // namespace

Templates::Templates(const TemplateReconcilerParts& parts)
    : parts_(parts),
      reconciler_(parts),
      report_({parts.operator_namespace, parts.client, parts.clock, parts.events, parts.inspector,
               parts.namespaces, parts.metrics}),
      controller_({.name = kName, .workers = kWorkers}, reconciler_, parts.clock) {
  reconciler_.OnTurn([this](const ObjectKey& key) { controller_.Enqueue(key); });
}

void Templates::Follow(const api::ClusterPodPlacementConfig* config) {
  std::shared_ptr<const api::ClusterPodPlacementConfig> copy;
  Options options;
  if (config != nullptr && !config->metadata().has_deletion_timestamp()) {
    copy = std::make_shared<const api::ClusterPodPlacementConfig>(*config);
    options = {.jobs = config->Templates().suspended_jobs,
               .daemon_sets = config->DaemonSets().patch_templates,
               .report = config->DaemonSets().report};
  }
  reconciler_.Follow(copy);
  report_.Follow(std::move(copy));
  if (options == options_) return;
  options_ = options;
  changed_.NotifyAll();
}

bool Templates::Wake(const ObjectKey& key) {
  std::optional<NamedWorkload> named = ParseTemplateKey(key);
  if (!named) return false;
  if (named->kind == kReport) {
    report_.Wake();
  } else {
    controller_.Enqueue(key);
  }
  return true;
}

kube::asio::awaitable<void> Templates::Run() {
  co_await kube::IgnoreCancellation();
  auto executor = co_await kube::asio::this_coro::executor;
  kube::TaskGroup workers(executor);
  workers.Spawn(kName, controller_.Run(workers));
  Result<> waited = kube::Ok();
  while (waited) {
    kube::TaskGroup tasks(executor);
    Options started = options_;
    Start(tasks);
    while (waited && options_ == started) waited = co_await changed_.Wait();
    if (!waited) co_await kube::ForgetCancellation();
    Result<> stopped = co_await tasks.Stop(parts_.clock, 10s);
    LOG_IF(WARNING, !stopped) << "cannot stop the watches of templates: " << stopped.error();
    // Their workloads are no longer wanted.
    std::vector<ObjectKey> keys;
    auto collect = [&](std::string_view kind) {
      return [&keys, kind](const ObjectKey& key) { keys.push_back(TemplateKey(kind, key)); };
    };
    if (jobs_ != nullptr) jobs_->ForEachKey(collect(kJobs));
    if (daemon_sets_ != nullptr) daemon_sets_->ForEachKey(collect(kDaemonSets));
    jobs_.reset();
    daemon_sets_.reset();
    for (const ObjectKey& key : keys) OnChange(kube::EventType::kDeleted, key);
  }
  Result<> stopped = co_await workers.Stop(parts_.clock, 10s);
  LOG_IF(WARNING, !stopped) << "cannot stop the workers of templates: " << stopped.error();
}

void Templates::Start(kube::TaskGroup& tasks) {
  if (options_.jobs) {
    jobs_ = NewWatch<Jobs, kube::workloads::Job>(kJobs, kNoSuccess);
    tasks.Spawn("jobs", jobs_->Run());
  }
  if (options_.daemon_sets) {
    daemon_sets_ = NewWatch<DaemonSets, kube::workloads::DaemonSet>(kDaemonSets, "");
    tasks.Spawn("daemon-sets", daemon_sets_->Run());
  }
  if (options_.report) tasks.Spawn("daemon-set-report", report_.Run());
}

template <class Watch, class Workload>
std::unique_ptr<Watch> Templates::NewWatch(std::string_view kind, std::string field_selector) {
  auto wanted = [this](const Workload& workload) {
    return WantsTemplate(workload, parts_.clock.WallNow()) &&
           placement::NeedsRequirement(
               placement::PodOf(workload.metadata().namespace_(), workload.spec().template_()));
  };
  auto changed = [this, kind](kube::EventType type, const ObjectKey& key) {
    OnChange(type, TemplateKey(kind, key));
  };
  return std::make_unique<Watch>(parts_.client, parts_.clock, std::move(field_selector), wanted,
                                 changed);
}

void Templates::OnChange(kube::EventType type, const ObjectKey& key) {
  // A running reconcile needs the state of its workload.
  if (type != kube::EventType::kDeleted || controller_.queue().working(key)) {
    controller_.Enqueue(key);
    return;
  }
  controller_.queue().Drop(key);
  reconciler_.Forget(key);
}

}  // namespace cluster_controller
