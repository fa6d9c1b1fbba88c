// SPDX-License-Identifier: Apache-2.0
#include "exec-format/handler/handler_feature.h"

#include <glog/logging.h>

#include <chrono>
#include <utility>

#include "exec-format/handler/limits.h"

namespace exec_format {

using kube::EventType;
using kube::ObjectKey;
using kube::Result;
using namespace std::chrono_literals;

namespace {

// Longer than every value that the CRD admits. What a CRD without bounds has admitted is not kept.
constexpr size_t kMaxField = 1'024;

// Keeps what is used of an object: metadata may be large.
void Trim(ENoExecEvent& event) {
  kube::meta::ObjectMeta kept;
  kept.set_name(event.metadata().name());
  kept.set_namespace_(event.metadata().namespace_());
  kept.set_uid(event.metadata().uid());
  *kept.mutable_creation_timestamp() = event.metadata().creation_timestamp();
  // Somebody else's finalizer keeps it.
  if (event.metadata().has_deletion_timestamp())
    *kept.mutable_deletion_timestamp() = event.metadata().deletion_timestamp();
  *event.mutable_metadata() = std::move(kept);
  for (std::string* field : {&event.node_name, &event.pod_name, &event.pod_namespace,
                             &event.pod_uid, &event.container_id, &event.command, &event.program}) {
    if (field->size() > kMaxField) field->clear();
    field->shrink_to_fit();
  }
}

}  // namespace

HandlerFeature::HandlerFeature(std::string ns, kube::Client& client, kube::Clock& clock,
                               kube::EventRecorder& events, HandlerMetrics& metrics,
                               std::unique_ptr<Learner> learner, kube::ControllerObserver* observer)
    : ns_(std::move(ns)),
      client_(client),
      clock_(clock),
      learner_(std::move(learner)),
      reconciler_(client, clock, events, metrics,
                  [this](Failure failure, const std::string& architecture) {
                    if (learner_) learner_->OnFailure(std::move(failure), architecture);
                  }),
      controller_({.name = kController, .workers = kWorkers}, reconciler_, clock, observer) {}

void HandlerFeature::Start(kube::TaskGroup& tasks) {
  tasks.Spawn(kController, controller_.Run(tasks));
  tasks.Spawn("exec-format-errors-watch", Watch());
  if (learner_) learner_->Start(tasks);
}

void HandlerFeature::Follow(const api::ClusterPodPlacementConfig* config) {
  bool is_on = config != nullptr && !config->metadata().has_deletion_timestamp() &&
               config->WantsExecFormatErrorMonitor();
  if (std::exchange(is_on_, is_on) != is_on) changed_.NotifyAll();
  if (learner_) learner_->Follow(config);
}

kube::asio::awaitable<void> HandlerFeature::Watch() {
  co_await kube::IgnoreCancellation();
  Result<> done = kube::Ok();
  while (done) {
    if (is_on_) {
      done = co_await WatchOnce();
    } else {
      done = co_await changed_.Wait();
    }
  }
}

kube::Async<> HandlerFeature::WatchOnce() {
  co_await kube::IgnoreCancellation();
  auto executor = co_await kube::asio::this_coro::executor;
  was_full_ = list_again_ = false;
  kube::InformerOptions<ENoExecEvent> options;
  options.ns = ns_;
  options.trim = Trim;
  options.max_objects = kMaxObjects;
  kube::Informer<ENoExecEvent> objects(client_, clock_, std::move(options));
  objects.OnChange([this, &objects](EventType type, const ObjectKey& key) {
    OnChange(type, key, objects.size());
  });
  reconciler_.Read(&objects);
  kube::TaskGroup tasks(executor);
  tasks.Spawn("enoexecevents", objects.Run());
  Result<> waited = kube::Ok();
  while (waited && is_on_ && !list_again_) waited = co_await changed_.Wait();
  reconciler_.Read(nullptr);
  // It refers to `objects`, so this does not end before it, even if it is cancelled.
  bool cancelled = co_await kube::IsCancelled();
  while (tasks.size() > 0) {
    Result<> stopped = co_await tasks.Stop(clock_, 10s);
    bool is_cancelled = FailedWith(stopped, kube::Code::kCancelled);
    cancelled = cancelled || is_cancelled;
    LOG_IF(WARNING, !stopped && !is_cancelled)
        << "cannot stop the watch of ENoExecEvents: " << stopped.error();
  }
  if (cancelled) co_return kube::Error::Cancelled("the watch of ENoExecEvents");
  co_return kube::Ok();
}

void HandlerFeature::OnChange(EventType type, const ObjectKey& key, size_t known) {
  if (type == EventType::kDeleted) {
    controller_.queue().Drop(key);
  } else {
    controller_.Enqueue(key);
  }
  was_full_ |= known >= kMaxObjects;
  if (!was_full_ || known > kMaxObjects / 2 || list_again_) return;
  list_again_ = true;
  changed_.NotifyAll();
}

std::unique_ptr<HandlerFeature> NewHandlerFeature(const cluster_controller::TermParts& term,
                                                  HandlerMetrics& metrics,
                                                  LearningMetrics& learning_metrics,
                                                  kube::ControllerObserver* observer) {
  return std::make_unique<HandlerFeature>(
      term.operator_namespace, term.client, term.clock, term.events, metrics,
      std::make_unique<Learner>(term, learning_metrics), observer);
}

}  // namespace exec_format
