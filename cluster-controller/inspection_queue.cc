// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/inspection_queue.h"

#include <algorithm>
#include <utility>

namespace cluster_controller {
namespace {

using inspection::ImageRequest;
using placement::ArchitectureSet;

// Equal for those who may share an answer.
std::string KeyOf(const ImageRequest& request) {
  std::string key = request.image + " " + request.os + (request.always_pull ? " always " : " ");
  return request.keyring == nullptr ? key : key + request.keyring->Identity();
}

}  // namespace

InspectionQueue::InspectionQueue(inspection::ImageInspector& images, kube::Clock& clock, kube::TaskGroup& tasks,
                                 ControllerMetrics& metrics, InspectionQueueOptions options)
    : images_(images), clock_(clock), tasks_(tasks), metrics_(metrics), options_(options) {}

std::optional<InspectionQueue::Answer> InspectionQueue::Ask(const kube::ObjectKey& pod, const ImageRequest& request) {
  std::string key = KeyOf(request);
  auto found = jobs_.find(key);
  if (found != jobs_.end() && found->second->answer) {
    Job& job = *found->second;
    if (job.pods.contains(pod) || clock_.Now() < job.answered + options_.share) return job.answer;
  }
  if (found == jobs_.end() || found->second->answer) {
    std::optional<Answer> known = images_.Remembered(request);
    if (known) return known;
  }
  std::shared_ptr<Job> job = Enqueue(key, request);
  job->pods.insert(pod);
  Asked& asked = asked_.try_emplace(pod, Asked{.since = clock_.Now(), .jobs = {}}).first->second;
  const std::string* kept_key = &jobs_.find(key)->first;
  if (std::find(asked.jobs.begin(), asked.jobs.end(), kept_key) == asked.jobs.end()) asked.jobs.push_back(kept_key);
  Pump();
  return std::nullopt;
}

void InspectionQueue::Prefetch(const ImageRequest& request) {
  if (images_.Remembered(request)) return;
  Enqueue(KeyOf(request), request)->prefetch = true;
  Pump();
}

std::optional<kube::TimePoint> InspectionQueue::AskedSince(const kube::ObjectKey& pod) const {
  auto asked = asked_.find(pod);
  if (asked == asked_.end()) return std::nullopt;
  return asked->second.since;
}

void InspectionQueue::Forget(const kube::ObjectKey& pod) {
  auto asked = asked_.find(pod);
  if (asked == asked_.end()) return;
  for (const std::string* key : asked->second.jobs) {
    auto found = jobs_.find(*key);
    Job& job = *found->second;
    job.pods.erase(pod);
    if (!job.pods.empty()) continue;
    if (job.answer) {
      jobs_.erase(found);
    } else if (!job.begun && !job.prefetch) {
      // Its line has it until its turn, without what makes it large.
      job.request = {};
      job.key.clear();
      jobs_.erase(found);
    }
  }
  asked_.erase(asked);
}

// The job that is not answered yet; a new one takes over the pods of an answered one.
std::shared_ptr<InspectionQueue::Job> InspectionQueue::Enqueue(const std::string& key, const ImageRequest& request) {
  std::shared_ptr<Job>& job = jobs_[key];
  if (job != nullptr && !job->answer) return job;
  auto next = std::make_shared<Job>();
  next->key = key;
  next->request = request;
  if (job != nullptr) next->pods = std::move(job->pods);
  job = next;
  std::string registry = inspection::RegistryOf(request.image);
  Line& line = lines_[registry];
  line.jobs.push_back(next);
  ++waiting_;
  TakeTurn(registry, line);
  return next;
}

void InspectionQueue::TakeTurn(const std::string& registry, Line& line) {
  if (line.in_turn || line.jobs.empty() || line.under_way >= options_.per_registry) return;
  line.in_turn = true;
  turns_.push_back(registry);
}

void InspectionQueue::Pump() {
  // An inspection that is answered at once ends within Spawn(), and comes here again.
  if (pumping_) return;
  pumping_ = true;
  while (under_way_ < options_.at_once && !turns_.empty()) {
    std::string registry = std::move(turns_.front());
    turns_.pop_front();
    Line& line = lines_[registry];
    line.in_turn = false;
    std::shared_ptr<Job> job = std::move(line.jobs.front());
    line.jobs.pop_front();
    --waiting_;
    bool wanted = !job->pods.empty() || job->prefetch;
    if (wanted) {
      job->begun = true;
      ++line.under_way;
      ++under_way_;
    }
    TakeTurn(registry, line);
    if (line.jobs.empty() && line.under_way == 0) lines_.erase(registry);
    if (wanted) tasks_.Spawn("inspect", Inspect(registry, std::move(job)));
  }
  pumping_ = false;
}

kube::asio::awaitable<void> InspectionQueue::Inspect(std::string registry, std::shared_ptr<Job> job) {
  co_await kube::IgnoreCancellation();
  kube::TimePoint begun = clock_.Now();
  ImageRequest request = std::move(job->request);
  Answer answer = co_await images_.Architectures(std::move(request));
  metrics_.time_to_inspect_image.Observe(std::chrono::duration<double>(clock_.Now() - begun).count());
  job->answer = std::move(answer);
  job->answered = clock_.Now();

  Line& line = lines_[registry];
  --line.under_way;
  --under_way_;
  TakeTurn(registry, line);
  if (line.jobs.empty() && line.under_way == 0) lines_.erase(registry);
  // Asked to stop: nothing new is begun, and nobody has use for such an answer.
  if (FailedWith(*job->answer, kube::Code::kCancelled)) co_return;
  Settle(*job);
  Pump();
}

void InspectionQueue::Settle(Job& job) {
  if (wake_) {
    for (const kube::ObjectKey& pod : job.pods) wake_(pod);
  }
  if (!job.pods.empty()) return;
  auto found = jobs_.find(job.key);
  if (found != jobs_.end() && found->second.get() == &job) jobs_.erase(found);
}

}  // namespace cluster_controller
