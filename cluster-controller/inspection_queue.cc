// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/inspection_queue.h"

#include <algorithm>
#include <utility>

#include "cluster-controller/timing.h"

namespace cluster_controller {

using inspection::ImageRequest;

InspectionQueue::InspectionQueue(inspection::ImageInspector& images, kube::Clock& clock,
                                 kube::TaskGroup& tasks, InspectionMetrics& metrics,
                                 InspectionQueueOptions options)
    : images_(images), clock_(clock), tasks_(tasks), metrics_(metrics), options_(options) {}

std::optional<InspectionQueue::Result> InspectionQueue::Submit(const kube::ObjectKey& pod,
                                                               const ImageRequest& request) {
  // The usual case: the image was inspected before, and nothing waits.
  if (jobs_.empty()) {
    std::optional<Result> cached = images_.Cached(request);
    if (cached) return cached;
  }
  std::string key = images_.SharingKey(request);
  auto found = jobs_.find(key);
  if (found != jobs_.end() && found->second->result) {
    Job& job = *found->second;
    if (job.pods.contains(pod) || clock_.Now() < job.finished + kSharedResultLifetime)
      return job.result;
  }
  if (found == jobs_.end() || found->second->ended()) {
    std::optional<Result> cached = images_.Cached(request);
    if (cached) return cached;
  }
  std::shared_ptr<Job> job = Enqueue(pod.ns, key, request);
  job->pods.insert_or_assign(pod, request.pod);
  WaitingPod& waiting =
      pods_.try_emplace(pod, WaitingPod{.since = clock_.Now(), .jobs = {}}).first->second;
  const std::string* job_key = &jobs_.find(key)->first;
  if (std::find(waiting.jobs.begin(), waiting.jobs.end(), job_key) == waiting.jobs.end())
    waiting.jobs.push_back(job_key);
  StartJobs();
  return std::nullopt;
}

void InspectionQueue::Prefetch(const std::string& ns, const ImageRequest& request) {
  if (images_.Cached(request)) return;
  Enqueue(ns, images_.SharingKey(request), request)->prefetch = true;
  StartJobs();
}

std::optional<kube::TimePoint> InspectionQueue::WaitingSince(const kube::ObjectKey& pod) const {
  auto waiting = pods_.find(pod);
  if (waiting == pods_.end()) return std::nullopt;
  return waiting->second.since;
}

void InspectionQueue::Forget(const kube::ObjectKey& pod) {
  auto waiting = pods_.find(pod);
  if (waiting == pods_.end()) return;
  for (const std::string* key : waiting->second.jobs) {
    auto found = jobs_.find(*key);
    Job& job = *found->second;
    job.pods.erase(pod);
    if (job.pods.empty() && !job.prefetch && !job.positions.empty()) {
      Dequeue(job);
      jobs_.erase(found);
      continue;
    }
    if (job.pods.empty() && job.ended()) {
      jobs_.erase(found);
      continue;
    }
    // The job uses the turns of the namespaces that still have pods in it.
    auto same = job.pods.lower_bound({pod.ns, ""});
    if (job.prefetch || (same != job.pods.end() && same->first.ns == pod.ns)) continue;
    auto position = std::find_if(job.positions.begin(), job.positions.end(),
                                 [&](auto& each) { return each.ns->name == pod.ns; });
    if (position == job.positions.end()) continue;
    RemovePosition(job.registry, *position);
    job.positions.erase(position);
  }
  pods_.erase(waiting);
}

// The job with this key that has not ended, queued in `ns`. A new job takes over the pods of one
// that has.
std::shared_ptr<InspectionQueue::Job> InspectionQueue::Enqueue(const std::string& ns,
                                                               const std::string& key,
                                                               const ImageRequest& request) {
  std::shared_ptr<Job>& job = jobs_[key];
  if (job != nullptr && !job->ended()) {
    if (!job->positions.empty()) AddPosition(ns, job);
    return job;
  }
  auto next = std::make_shared<Job>();
  next->key = key;
  next->registry = inspection::RegistryOf(request.image);
  next->request = request;
  if (job != nullptr) {
    if (job->repeat) next->gone = std::move(job->gone);
    next->pods = std::move(job->pods);
  }
  job = next;
  ++queued_;
  AddPosition(ns, next);
  return next;
}

void InspectionQueue::AddPosition(const std::string& ns, const std::shared_ptr<Job>& job) {
  for (const Position& position : job->positions) {
    if (position.ns->name == ns) return;
  }
  Namespace& own = namespaces_[ns];
  own.name = ns;
  if (own.registries.empty()) own.turn = turns_.insert(turns_.end(), &own);
  RegistryQueue& queue = own.registries[job->registry];
  if (queue.jobs.empty()) queue.turn = own.turns.insert(own.turns.end(), job->registry);
  job->positions.push_back({&own, queue.jobs.insert(queue.jobs.end(), job)});
}

void InspectionQueue::RemovePosition(const std::string& registry, const Position& position) {
  Namespace& ns = *position.ns;
  auto queue = ns.registries.find(registry);
  queue->second.jobs.erase(position.at);
  if (!queue->second.jobs.empty()) return;
  ns.turns.erase(queue->second.turn);
  ns.registries.erase(queue);
  if (!ns.registries.empty()) return;
  turns_.erase(ns.turn);
  EraseIfIdle(ns);
}

void InspectionQueue::Dequeue(Job& job) {
  for (const Position& position : job.positions) RemovePosition(job.registry, position);
  job.positions.clear();
  --queued_;
}

void InspectionQueue::EraseIfIdle(Namespace& ns) {
  if (!ns.registries.empty() || ns.in_flight > 0) return;
  std::string name = ns.name;
  namespaces_.erase(name);
}

// A namespace may start another inspection while it has fewer in flight than this: at most as many
// as are free for the others. The more namespaces are active, the fewer each one has.
size_t InspectionQueue::NamespaceLimit() const {
  return std::max<size_t>(1, std::min(options_.per_namespace, options_.total - in_flight_));
}

// The first queue of `ns` whose registry is below its limit; nullptr if there is none.
InspectionQueue::RegistryQueue* InspectionQueue::NextRegistry(Namespace& ns) {
  for (const std::string& registry : ns.turns) {
    auto busy = in_flight_by_registry_.find(registry);
    if (busy == in_flight_by_registry_.end() || busy->second < options_.per_registry)
      return &ns.registries.at(registry);
  }
  return nullptr;
}

void InspectionQueue::StartJobs() {
  // An inspection that needs no request ends within Spawn(), which calls this function again.
  if (starting_) return;
  starting_ = true;
  while (in_flight_ < options_.total && queued_ > 0) {
    // The namespace with the fewest inspections in flight; among equal ones, the one whose last
    // turn is oldest.
    Namespace* ns = nullptr;
    RegistryQueue* queue = nullptr;
    for (Namespace* each : turns_) {
      if (each->in_flight >= NamespaceLimit() ||
          (ns != nullptr && each->in_flight >= ns->in_flight))
        continue;
      RegistryQueue* next = NextRegistry(*each);
      if (next == nullptr) continue;
      ns = each;
      queue = next;
      if (ns->in_flight == 0) break;
    }
    if (ns == nullptr) break;
    turns_.splice(turns_.end(), turns_, ns->turn);
    ns->turns.splice(ns->turns.end(), ns->turns, queue->turn);
    std::shared_ptr<Job> job = queue->jobs.front();
    ++ns->in_flight;
    ++in_flight_;
    ++in_flight_by_registry_[job->registry];
    Dequeue(*job);
    tasks_.Spawn("inspect", Run(ns, std::move(job)));
  }
  starting_ = false;
}

// A pod of the job that is not known to be gone; nullptr if there is none.
inspection::SharedPodIdentity InspectionQueue::PresentPod(const Job& job) {
  for (const auto& [pod, identity] : job.pods) {
    if (identity != nullptr && !job.gone.contains(identity->uid)) return identity;
  }
  return nullptr;
}

kube::asio::awaitable<void> InspectionQueue::Run(Namespace* ns, std::shared_ptr<Job> job) {
  co_await kube::IgnoreCancellation();
  kube::TimePoint started = clock_.Now();
  ImageRequest request = std::move(job->request);
  if (inspection::SharedPodIdentity present = PresentPod(*job)) request.pod = std::move(present);
  bool cancelled = false;
  if (images_.SharingKey(request) != job->key) {
    // Under this configuration, its pods may have different rights.
    job->repeat = true;
  } else {
    inspection::SharedPodIdentity identity = request.pod;
    Result result = co_await images_.Inspect(std::move(request));
    metrics_.time_to_inspect_image.Observe(
        std::chrono::duration<double>(clock_.Now() - started).count());
    bool gone = !result && identity != nullptr && result.error().reason() == inspection::kPodGone;
    if (gone) job->gone.insert(identity->uid);
    job->repeat = gone && job->gone.size() <= kMaxRepeats && PresentPod(*job) != nullptr;
    cancelled = FailedWith(result, kube::Code::kCancelled);
    if (!job->repeat) job->result = std::move(result);
  }
  job->finished = clock_.Now();

  --in_flight_;
  --ns->in_flight;
  EraseIfIdle(*ns);
  auto busy = in_flight_by_registry_.find(job->registry);
  if (--busy->second == 0) in_flight_by_registry_.erase(busy);
  // The task group stops: no job is started any more.
  if (cancelled) co_return;
  WakePods(*job);
  StartJobs();
}

void InspectionQueue::WakePods(Job& job) {
  if (wake_) {
    for (const auto& [pod, identity] : job.pods) wake_(pod);
  }
  if (!job.pods.empty()) return;
  auto found = jobs_.find(job.key);
  if (found != jobs_.end() && found->second.get() == &job) jobs_.erase(found);
}

}  // namespace cluster_controller
