// SPDX-License-Identifier: Apache-2.0
#include "templates/template_feature.h"

#include <glog/logging.h>

#include <chrono>
#include <optional>
#include <utility>

#include "kube/base/alarm.h"
#include "templates/template_key.h"

namespace templates {
namespace {

using kube::ObjectKey;
using kube::Result;
using kube::workloads::DaemonSet;
using kube::workloads::Job;
using namespace std::chrono_literals;

// The API server knows no selector for Jobs that do not run. Most that are done have one successful
// pod or more.
constexpr char kNoSuccess[] = "status.successful=0";

}  // namespace

TemplateFeature::TemplateFeature(const cluster_controller::TermParts& parts,
                                 TemplateMetrics& metrics, kube::ControllerObserver* observer)
    : parts_(parts),
      metrics_(metrics),
      reconciler_(parts, metrics),
      report_(parts, metrics),
      controller_({.name = kController, .workers = kWorkers}, reconciler_, parts.clock, observer) {
  reconciler_.OnTurn([this](const ObjectKey& key) { controller_.Enqueue(key); });
}

void TemplateFeature::Start(kube::TaskGroup& tasks) {
  tasks.Spawn(kController, controller_.Run(tasks));
  tasks.Spawn("watches-of-templates", Watch());
  tasks.Spawn("daemon-set-report", report_.Run());
}

void TemplateFeature::Follow(const api::ClusterPodPlacementConfig* config) {
  std::shared_ptr<const api::ClusterPodPlacementConfig> copy;
  Watched watched;
  if (config != nullptr && !config->metadata().has_deletion_timestamp()) {
    copy = std::make_shared<const api::ClusterPodPlacementConfig>(*config);
    watched = {.jobs = config->Templates().suspended_jobs,
               .daemon_sets = config->DaemonSets().patch_templates};
  }
  reconciler_.Follow(copy);
  report_.Follow(std::move(copy));
  if (watched == watched_) return;
  watched_ = watched;
  changed_.NotifyAll();
}

bool TemplateFeature::Wake(const ObjectKey& key) {
  std::optional<NamedWorkload> named = ParseTemplateKey(key);
  if (!named) return false;
  if (named->kind == kReport) {
    report_.Wake(key);
  } else {
    controller_.Enqueue(key);
  }
  return true;
}

kube::asio::awaitable<void> TemplateFeature::Watch() {
  co_await kube::IgnoreCancellation();
  auto executor = co_await kube::asio::this_coro::executor;
  Result<> waited = kube::Ok();
  while (waited) {
    bool list_again = false;
    kube::Alarm alarm(parts_.clock, [this, &list_again] {
      list_again = true;
      changed_.NotifyAll();
    });
    kube::TaskGroup tasks(executor);
    const Watched watched = watched_;
    left_out_ = false;
    StartWatches(tasks);
    while (waited && watched_ == watched && !list_again) {
      if (left_out_ && !alarm.set_to()) alarm.Set(executor, parts_.clock.Now() + kListAgainAfter);
      waited = co_await changed_.Wait();
    }
    // They refer to this object, so this task does not end before them, even if it is cancelled.
    bool cancelled = co_await kube::IsCancelled();
    while (tasks.size() > 0) {
      Result<> stopped = co_await tasks.Stop(parts_.clock, 10s);
      cancelled = cancelled || FailedWith(stopped, kube::Code::kCancelled);
      LOG_IF(WARNING, !stopped) << "cannot stop the watches of templates: " << stopped.error();
    }
    jobs_.reset();
    daemon_sets_.reset();
    // Those of a plugin that is off are dropped.
    for (const ObjectKey& key : reconciler_.Waiting()) controller_.Enqueue(key);
    if (cancelled) co_return;
  }
}

void TemplateFeature::StartWatches(kube::TaskGroup& tasks) {
  if (watched_.jobs) {
    jobs_ = std::make_unique<Jobs>(parts_.client, parts_.clock, kNoSuccess, Enqueue<Job>(kJobs));
    tasks.Spawn("jobs", jobs_->Run());
  }
  if (watched_.daemon_sets) {
    daemon_sets_ = std::make_unique<DaemonSets>(parts_.client, parts_.clock, std::string(),
                                                Enqueue<DaemonSet>(kDaemonSets));
    tasks.Spawn("daemon-sets", daemon_sets_->Run());
  }
}

template <class Workload>
std::function<void(const Workload&)> TemplateFeature::Enqueue(std::string_view kind) {
  return [this, kind](const Workload& workload) {
    if (!reconciler_.Wants(workload)) return;
    ObjectKey key = TemplateKey(kind, kube::KeyOf(workload));
    if (reconciler_.Add(key)) {
      controller_.Enqueue(key);
      return;
    }
    metrics_.templates_left_out.Increment();
    if (std::exchange(left_out_, true)) return;
    LOG(WARNING) << "too many workloads wait for the requirement in their template; the first that "
                    "is left out is "
                 << key.ToString();
    changed_.NotifyAll();
  };
}

}  // namespace templates
