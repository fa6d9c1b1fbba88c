// SPDX-License-Identifier: Apache-2.0
#include "ephemeral-containers/webhook/warning_webhook.h"

#include <glog/logging.h>

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "ephemeral-containers/warning.h"
#include "inspection/config/credentials.h"
#include "kube/admission/response.h"
#include "kube/base/alarm.h"
#include "kube/base/notifier.h"
#include "kube/base/one_line.h"
#include "kube/types/core.pb.h"

namespace ephemeral {
namespace {

using cluster_controller::PodImages;
using cluster_controller::PodInspector;
using kube::AdmissionResponse;
using kube::HttpReply;
using kube::ObjectKey;
using kube::Result;
using kube::core::Pod;

kube::Counter& ReviewCounter(kube::Metrics& metrics, const char* result) {
  return metrics.AddCounter("mto_ppo_ephemeral_wh_reviews_total",
                            "Requests that the API server sent to the webhook of ephemeral "
                            "containers",
                            {{"result", result}});
}

kube::Counter& SkippedCounter(kube::Metrics& metrics, const char* reason) {
  return metrics.AddCounter("mto_ppo_ephemeral_wh_skipped_total",
                            "Ephemeral containers, or reviews of them, that were not examined",
                            {{"reason", reason}});
}

// A pod with the container alone, for the inspector. The name is like no pod's.
Pod PodWith(const EphemeralReview& review, const kube::core::Container& container,
            const ObjectKey& key) {
  Pod pod;
  pod.mutable_metadata()->set_namespace_(key.ns);
  pod.mutable_metadata()->set_name(key.name);
  for (const std::string& secret : review.pull_secrets)
    pod.mutable_spec()->add_image_pull_secrets()->set_name(secret);
  *pod.mutable_spec()->add_containers() = container;
  return pod;
}

}  // namespace

// Shared by the answer and the task; the task may end later.
struct WarningWebhook::Examination {
  Examination(EphemeralReview of, ObjectKey at, kube::TimePoint answer_by, kube::Clock& clock)
      : review(std::move(of)),
        place(std::move(at)),
        deadline(answer_by),
        alarm(clock, [this] { changed.NotifyAll(); }) {}

  EphemeralReview review;
  ObjectKey place;
  kube::TimePoint deadline;
  std::vector<std::string> warnings;
  bool done = false;
  // The images that have to be looked at: they may be known by now.
  std::set<ObjectKey> woken;
  kube::Notifier changed;
  kube::Alarm alarm;  // rings at the deadline
};

WarningWebhook::Skipped::Skipped(kube::Metrics& metrics)
    : busy(SkippedCounter(metrics, "busy")),
      containers(SkippedCounter(metrics, "containers")),
      node(SkippedCounter(metrics, "node")),
      inspection(SkippedCounter(metrics, "inspection")),
      deadline(SkippedCounter(metrics, "deadline")) {}

WarningWebhook::Reviews::Reviews(kube::Metrics& metrics)
    : warned(ReviewCounter(metrics, "warned")),
      unwarned(ReviewCounter(metrics, "unwarned")),
      invalid(ReviewCounter(metrics, "invalid")) {}

WarningWebhook::WarningWebhook(cluster_controller::InspectionQueue& queue,
                               cluster_controller::PodInspector& inspector, kube::Executor executor,
                               kube::Client& client, kube::Clock& clock, kube::TaskGroup& tasks,
                               kube::Metrics& metrics)
    : inspector_(inspector),
      executor_(std::move(executor)),
      clock_(clock),
      tasks_(tasks),
      reviews_(metrics),
      skipped_(metrics),
      response_time_(metrics.AddHistogram("mto_ppo_ephemeral_wh_response_time_seconds",
                                          "The response time of the webhook of ephemeral "
                                          "containers")),
      nodes_(client, clock) {
  auto wake = [this](const ObjectKey& key) { Wake(key); };
  queue.OnResult(wake);
  inspector.OnTurn(wake);
}

WarningWebhook::~WarningWebhook() = default;

void WarningWebhook::AddTo(kube::HttpsServer& server, const PathWatch& path) {
  server.Handle("POST", std::string(kWarningsPath) + "/",
                [this](kube::HttpCall call) { return Answer(std::move(call)); });
  server.Admit([&path](std::string_view requested) { return path.Admits(requested); });
}

kube::Async<HttpReply> WarningWebhook::Answer(kube::HttpCall call) {
  kube::Stopwatch watch(response_time_, clock_);
  Result<EphemeralReview> review = reader_.Read(call.body);
  if (!review) {
    reviews_.invalid.Increment();
    LOG(WARNING) << "invalid AdmissionReview: " << review.error();
    co_return kube::FailureReply(400, review.error().message());
  }
  // The review waits as what was read of it.
  std::string().swap(call.body);
  if (call.release) call.release();
  std::string uid = review->uid;
  Result<std::vector<std::string>> warnings = co_await WarningsFor(std::move(*review));
  if (!warnings) co_return warnings.error();
  (warnings->empty() ? reviews_.unwarned : reviews_.warned).Increment();
  AdmissionResponse response = AdmissionResponse::Allowed();
  for (std::string& warning : *warnings) response = std::move(response).Warn(std::move(warning));
  HttpReply reply;
  reply.body = kube::WriteReview(uid, response);
  co_return reply;
}

kube::Async<std::vector<std::string>> WarningWebhook::WarningsFor(EphemeralReview review) {
  co_await kube::IgnoreCancellation();
  skipped_.containers.Increment(static_cast<double>(review.left_out));
  // A pod without a node gets its containers when it has one.
  if (review.added.empty() || review.ns.empty() || review.node.empty())
    co_return std::vector<std::string>();
  // No pod has this name: see PodInspector::IsPod().
  ObjectKey place{review.ns, review.pod + "/" + std::to_string(++last_)};
  if (places_.taken() >= kMaxReviews || !places_.Enter(place)) {
    places_.Leave(place);
    skipped_.busy.Increment();
    VLOG(1) << "uid=" << kube::OneLine(review.uid) << " too many reviews are examined";
    co_return std::vector<std::string>();
  }
  auto examination = std::make_shared<Examination>(std::move(review), std::move(place),
                                                   clock_.Now() + kAnswerWithin, clock_);
  examination->alarm.Set(executor_, examination->deadline);
  tasks_.Spawn("examine", Examine(examination));
  while (!examination->done && clock_.Now() < examination->deadline) {
    Result<> waited = co_await examination->changed.Wait();
    if (!waited) co_return waited.error();
  }
  // The task may add more: this answer has what is known by now.
  co_return examination->warnings;
}

kube::asio::awaitable<void> WarningWebhook::Examine(SharedExamination examination) {
  co_await kube::IgnoreCancellation();
  std::string name = examination->review.node;
  Result<NodePlatform> node = co_await nodes_.Read(std::move(name));
  if (node) {
    co_await ExamineImages(examination, std::move(*node));
  } else {
    skipped_.node.Increment(static_cast<double>(examination->review.added.size()));
    VLOG(1) << "uid=" << kube::OneLine(examination->review.uid) << " " << node.error();
  }
  places_.Leave(examination->place);
  examination->done = true;
  examination->alarm.Cancel();
  examination->changed.NotifyAll();
}

kube::asio::awaitable<void> WarningWebhook::ExamineImages(SharedExamination examination,
                                                          NodePlatform node) {
  co_await kube::IgnoreCancellation();
  const EphemeralReview& review = examination->review;
  struct Unknown {
    const kube::core::Container* container;
    PodInspector::Images images;
  };
  std::map<ObjectKey, Unknown> unknown;
  for (size_t i = 0; i < review.added.size(); ++i) {
    ObjectKey key{examination->place.ns, examination->place.name + "/" + std::to_string(i)};
    Pod pod = PodWith(review, review.added[i], key);
    waiting_.emplace(key, examination);
    examination->woken.insert(key);
    PodInspector::Images images = PodInspector::Images::Of(pod);
    images.deadline = examination->deadline;
    unknown.emplace(std::move(key), Unknown{&review.added[i], std::move(images)});
  }
  // The Secrets are read once, also if that fails.
  std::optional<inspection::SharedKeyring> keyring;
  bool unreadable = false;
  bool cancelled = false;
  while (!unknown.empty() && !cancelled && !unreadable && clock_.Now() < examination->deadline) {
    const std::set<ObjectKey> woken = std::exchange(examination->woken, {});
    for (const ObjectKey& key : woken) {
      auto next = unknown.find(key);
      if (next == unknown.end()) continue;
      if (clock_.Now() >= examination->deadline) break;
      auto& [container, wanted] = next->second;
      wanted.keyring = keyring;
      Result<std::optional<PodImages>> images = co_await inspector_.InspectImages(wanted);
      keyring = wanted.keyring;
      if (images && !*images) continue;
      unreadable = !images && !keyring;
      if (unreadable) {
        VLOG(1) << "uid=" << kube::OneLine(review.uid) << " " << images.error();
        break;
      }
      if (!images) {
        skipped_.inspection.Increment();
        VLOG(1) << "uid=" << kube::OneLine(review.uid) << " " << images.error();
      } else if (clock_.Now() >= examination->deadline) {
        skipped_.deadline.Increment();
      } else {
        NamedImage named{.container = container->name(), .image = container->image()};
        std::string warning = WarningFor(named, node, (*images)->platforms);
        if (!warning.empty()) examination->warnings.push_back(std::move(warning));
      }
      waiting_.erase(key);
      unknown.erase(next);
    }
    while (!unknown.empty() && !cancelled && !unreadable && examination->woken.empty() &&
           clock_.Now() < examination->deadline) {
      Result<> waited = co_await examination->changed.Wait();
      cancelled = !waited;
    }
  }
  // The inspections go on: the next request may find their results in the cache.
  const bool late = clock_.Now() >= examination->deadline;
  for (const auto& [key, image] : unknown) {
    inspector_.Forget(key);
    waiting_.erase(key);
    (unreadable && !late ? skipped_.inspection : skipped_.deadline).Increment();
  }
}

void WarningWebhook::Wake(const ObjectKey& key) {
  auto found = waiting_.find(key);
  if (found == waiting_.end()) return;
  found->second->woken.insert(key);
  found->second->changed.NotifyAll();
}

}  // namespace ephemeral
