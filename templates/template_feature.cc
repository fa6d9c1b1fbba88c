// SPDX-License-Identifier: Apache-2.0
#include "templates/template_feature.h"

#include <glog/logging.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "kube/base/alarm.h"
#include "kube/controller/event_recorder.h"
#include "templates/workload_watch.h"

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
      reconciler_(parts, metrics),
      report_(parts, metrics),
      controller_({.name = kController, .workers = kWorkers}, reconciler_, parts.clock, observer) {
  reconciler_.OnTurn([this](const ObjectKey& key) { controller_.Enqueue(key); });
}

void TemplateFeature::Start(kube::TaskGroup& tasks) {
  tasks.Spawn(kController, controller_.Run(tasks));
  tasks.Spawn("jobs-with-templates", Watch<Job>(jobs_, kNoSuccess));
  tasks.Spawn("daemon-sets-with-templates", Watch<DaemonSet>(daemon_sets_, ""));
  tasks.Spawn("daemon-set-report", report_.Run());
}

void TemplateFeature::Follow(const api::ClusterPodPlacementConfig* config) {
  std::shared_ptr<const api::ClusterPodPlacementConfig> copy;
  bool jobs = false;
  bool daemon_sets = false;
  if (config != nullptr && !config->metadata().has_deletion_timestamp()) {
    copy = std::make_shared<const api::ClusterPodPlacementConfig>(*config);
    jobs = config->Templates().suspended_jobs;
    daemon_sets = config->DaemonSets().patch_templates;
  }
  reconciler_.Follow(copy);
  report_.Follow(std::move(copy));
  if (std::exchange(jobs_.on, jobs) != jobs) jobs_.changed.NotifyAll();
  if (std::exchange(daemon_sets_.on, daemon_sets) != daemon_sets) daemon_sets_.changed.NotifyAll();
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

template <class Workload>
kube::asio::awaitable<void> TemplateFeature::Watch(Watched& watched, std::string field_selector) {
  co_await kube::IgnoreCancellation();
  auto executor = co_await kube::asio::this_coro::executor;
  kube::Duration list_after = kListAgainAfter;
  Result<> waited = kube::Ok();
  while (waited) {
    if (!watched.on) {
      waited = co_await watched.changed.Wait();
      continue;
    }
    bool list_again = false;
    kube::Alarm alarm(parts_.clock, [&watched, &list_again] {
      list_again = true;
      watched.changed.NotifyAll();
    });
    const kube::TimePoint began = parts_.clock.Now();
    watched.left_out = false;
    WorkloadWatch<Workload> watch(parts_.client, parts_.clock, field_selector,
                                  [this, &watched](const Workload& workload, bool too_large) {
                                    See(watched, workload, too_large);
                                  });
    kube::TaskGroup tasks(executor);
    tasks.Spawn(std::string(watched.kind), watch.Run());
    while (waited && watched.on && !list_again) {
      if (watched.left_out && !alarm.set_to()) {
        // The list itself left nothing out.
        if (parts_.clock.Now() >= began + kListAgainAfter) list_after = kListAgainAfter;
        alarm.Set(executor, parts_.clock.Now() + list_after);
      }
      waited = co_await watched.changed.Wait();
    }
    list_after =
        list_again ? std::min<kube::Duration>(2 * list_after, kListAgainAtMost) : kListAgainAfter;
    // It refers to this object, so this task does not end before it, even if it is cancelled.
    bool cancelled = co_await kube::IsCancelled();
    while (tasks.size() > 0) {
      Result<> stopped = co_await tasks.Stop(parts_.clock, 10s);
      cancelled = cancelled || FailedWith(stopped, kube::Code::kCancelled);
      LOG_IF(WARNING, !stopped) << "cannot stop the watch of " << watched.kind
                                << " for their templates: " << stopped.error();
    }
    // Those of a plugin that is off are dropped.
    for (const ObjectKey& key : reconciler_.Waiting()) controller_.Enqueue(key);
    if (cancelled) co_return;
  }
}

template <class Workload>
void TemplateFeature::See(Watched& watched, const Workload& workload, bool too_large) {
  if (!reconciler_.Wants(workload)) return;
  ObjectKey key = TemplateKey(watched.kind, kube::KeyOf(workload));
  if (!too_large && reconciler_.Add(key)) {
    controller_.Enqueue(key);
    return;
  }
  Limit limit = too_large ? Limit::kSize : Limit::kWaiting;
  if (reconciler_.LeaveOut(key, kube::ReferenceTo(workload), limit)) controller_.Enqueue(key);
  if (too_large || std::exchange(watched.left_out, true)) return;
  LOG(WARNING) << "too many workloads wait for the requirement in their template; the first that "
                  "is left out is "
               << key.ToString();
  watched.changed.NotifyAll();
}

}  // namespace templates
