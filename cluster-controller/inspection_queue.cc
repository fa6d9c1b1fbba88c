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

InspectionQueue::InspectionQueue(inspection::ImageInspector& images, kube::Clock& clock,
                                 kube::TaskGroup& tasks, ControllerMetrics& metrics,
                                 InspectionQueueOptions options)
    : images_(images), clock_(clock), tasks_(tasks), metrics_(metrics), options_(options) {}

std::optional<InspectionQueue::Answer> InspectionQueue::Ask(const kube::ObjectKey& pod,
                                                            const ImageRequest& request) {
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
  std::shared_ptr<Job> job = Enqueue(pod.ns, key, request);
  job->pods.insert(pod);
  Asked& asked = asked_.try_emplace(pod, Asked{.since = clock_.Now(), .jobs = {}}).first->second;
  const std::string* kept_key = &jobs_.find(key)->first;
  if (std::find(asked.jobs.begin(), asked.jobs.end(), kept_key) == asked.jobs.end())
    asked.jobs.push_back(kept_key);
  Pump();
  return std::nullopt;
}

void InspectionQueue::Prefetch(const std::string& ns, const ImageRequest& request) {
  if (images_.Remembered(request)) return;
  Enqueue(ns, KeyOf(request), request)->prefetch = true;
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
    if (job.pods.empty() && !job.prefetch && !job.places.empty()) {
      Withdraw(job);
      jobs_.erase(found);
      continue;
    }
    if (job.pods.empty() && job.answer) {
      jobs_.erase(found);
      continue;
    }
    // The namespaces of the pods that are left pay for it with their turns.
    auto same = job.pods.lower_bound({pod.ns, ""});
    if (job.prefetch || (same != job.pods.end() && same->ns == pod.ns)) continue;
    auto place = std::find_if(job.places.begin(), job.places.end(),
                              [&](auto& each) { return each.ns->name == pod.ns; });
    if (place == job.places.end()) continue;
    RemovePlace(job.registry, *place);
    job.places.erase(place);
  }
  asked_.erase(asked);
}

// The job that is not answered yet, with a place in the line of `ns`; a new one takes over the pods
// of an answered one.
std::shared_ptr<InspectionQueue::Job> InspectionQueue::Enqueue(const std::string& ns,
                                                               const std::string& key,
                                                               const ImageRequest& request) {
  std::shared_ptr<Job>& job = jobs_[key];
  if (job != nullptr && !job->answer) {
    if (!job->places.empty()) AddPlace(ns, job);
    return job;
  }
  auto next = std::make_shared<Job>();
  next->key = key;
  next->registry = inspection::RegistryOf(request.image);
  next->request = request;
  if (job != nullptr) next->pods = std::move(job->pods);
  job = next;
  ++waiting_;
  AddPlace(ns, next);
  return next;
}

void InspectionQueue::AddPlace(const std::string& ns, const std::shared_ptr<Job>& job) {
  for (const Place& place : job->places) {
    if (place.ns->name == ns) return;
  }
  Namespace& own = namespaces_[ns];
  own.name = ns;
  if (own.lines.empty()) own.turn = turns_.insert(turns_.end(), &own);
  Line& line = own.lines[job->registry];
  if (line.jobs.empty()) line.turn = own.turns.insert(own.turns.end(), job->registry);
  job->places.push_back({&own, line.jobs.insert(line.jobs.end(), job)});
}

void InspectionQueue::RemovePlace(const std::string& registry, const Place& place) {
  Namespace& ns = *place.ns;
  auto line = ns.lines.find(registry);
  line->second.jobs.erase(place.at);
  if (!line->second.jobs.empty()) return;
  ns.turns.erase(line->second.turn);
  ns.lines.erase(line);
  if (!ns.lines.empty()) return;
  turns_.erase(ns.turn);
  ForgetIdle(ns);
}

// It waits no more.
void InspectionQueue::Withdraw(Job& job) {
  for (const Place& place : job.places) RemovePlace(job.registry, place);
  job.places.clear();
  --waiting_;
}

void InspectionQueue::ForgetIdle(Namespace& ns) {
  if (!ns.lines.empty() || ns.under_way > 0) return;
  std::string name = ns.name;
  namespaces_.erase(name);
}

// How many a namespace may have under way to begin another: no more than are free then. So the
// namespaces that have many leave some to those that come, and the more of them there are, the
// fewer each has.
size_t InspectionQueue::Allowance() const {
  return std::max<size_t>(1, std::min(options_.per_namespace, options_.at_once - under_way_));
}

// The next line of `ns` whose registry has a place free; nullptr if there is none.
InspectionQueue::Line* InspectionQueue::FreeLine(Namespace& ns) {
  for (const std::string& registry : ns.turns) {
    auto busy = busy_registries_.find(registry);
    if (busy == busy_registries_.end() || busy->second < options_.per_registry)
      return &ns.lines.at(registry);
  }
  return nullptr;
}

void InspectionQueue::Pump() {
  // An inspection that is answered at once ends within Spawn(), and comes here again.
  if (pumping_) return;
  pumping_ = true;
  while (under_way_ < options_.at_once && waiting_ > 0) {
    // The namespace that has least; of equal ones the one whose turn was longest ago.
    Namespace* ns = nullptr;
    Line* line = nullptr;
    for (Namespace* each : turns_) {
      if (each->under_way >= Allowance() || (ns != nullptr && each->under_way >= ns->under_way))
        continue;
      Line* free = FreeLine(*each);
      if (free == nullptr) continue;
      ns = each;
      line = free;
      if (ns->under_way == 0) break;
    }
    if (ns == nullptr) break;
    turns_.splice(turns_.end(), turns_, ns->turn);
    ns->turns.splice(ns->turns.end(), ns->turns, line->turn);
    std::shared_ptr<Job> job = line->jobs.front();
    ++ns->under_way;
    ++under_way_;
    ++busy_registries_[job->registry];
    Withdraw(*job);
    tasks_.Spawn("inspect", Inspect(ns, std::move(job)));
  }
  pumping_ = false;
}

kube::asio::awaitable<void> InspectionQueue::Inspect(Namespace* ns, std::shared_ptr<Job> job) {
  co_await kube::IgnoreCancellation();
  kube::TimePoint begun = clock_.Now();
  ImageRequest request = std::move(job->request);
  Answer answer = co_await images_.Architectures(std::move(request));
  metrics_.time_to_inspect_image.Observe(
      std::chrono::duration<double>(clock_.Now() - begun).count());
  job->answer = std::move(answer);
  job->answered = clock_.Now();

  --under_way_;
  --ns->under_way;
  ForgetIdle(*ns);
  auto busy = busy_registries_.find(job->registry);
  if (--busy->second == 0) busy_registries_.erase(busy);
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
