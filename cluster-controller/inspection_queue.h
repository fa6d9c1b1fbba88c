// SPDX-License-Identifier: Apache-2.0
// InspectionQueue: runs the inspections of images, fairly between namespaces and registries, and
// wakes the pods that wait for a result.
//
//   std::optional<Result<Inspected>> result = queue.Submit(pod, request);
//   if (!result) ...            // queued; OnResult() is called with `pod` when the result is there
//   queue.Forget(pod);          // once the pod has all results, or is deleted
//
// No coroutine waits here: a queued pod costs its key only. The namespace with the fewest
// inspections in flight is next, and within a namespace its registries take turns. A namespace may
// have as many in flight as remain free for the others, so that a new namespace starts at once even
// if the images of the others are slow; a slow registry delays no images of other registries.
//
// This is the only place where equal requests are joined: pods with the same SharingKey() share one
// inspection, which starts with the first turn of any of their namespaces, for a pod that still
// waits. If that pod is gone (inspection::kPodGone), it is repeated for another one, kMaxRepeats
// times. If the configuration has changed since, the pods submit their requests again, as they may
// not share one any more. Thread: one.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "cluster-controller/inspection_metrics.h"
#include "inspection/config/account_tokens.h"
#include "inspection/inspector.h"
#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/types/resource.h"

namespace cluster_controller {

struct InspectionQueueOptions {
  // Inspections in flight: of one registry, of one namespace, and of all.
  size_t per_registry = 16;
  size_t per_namespace = 32;
  size_t total = 128;
};

class InspectionQueue {
 public:
  using Result = kube::Result<inspection::Inspected>;

  // How often an inspection is repeated as the pod is gone that it was for.
  static constexpr size_t kMaxRepeats = 3;

  // All outlive it except `tasks`, which must have stopped before the queue is destroyed.
  InspectionQueue(inspection::ImageInspector& images, kube::Clock& clock, kube::TaskGroup& tasks,
                  InspectionMetrics& metrics, InspectionQueueOptions options = {});

  // `wake` is called with each pod whose result is there.
  void OnResult(std::function<void(const kube::ObjectKey&)> wake) { wake_ = std::move(wake); }

  // The result for `pod`, if it is known; nullopt after queueing the pod. Errors: ImageInspector's.
  std::optional<Result> Submit(const kube::ObjectKey& pod, const inspection::ImageRequest& request);
  // Queues an inspection without a pod, in the turns of namespace `ns`; its result gets into the
  // inspector's cache.
  void Prefetch(const std::string& ns, const inspection::ImageRequest& request);
  // When `pod` submitted the first of the requests that it waits for; nullopt if there is none.
  std::optional<kube::TimePoint> WaitingSince(const kube::ObjectKey& pod) const;
  // Drops all requests of `pod`.
  void Forget(const kube::ObjectKey& pod);

  // The numbers of queued inspections and of those in flight.
  size_t queued() const { return queued_; }
  size_t in_flight() const { return in_flight_; }

 private:
  struct Namespace;
  struct Job;

  // A job's position in the queue of its registry, in one namespace.
  struct Position {
    Namespace* ns;
    std::list<std::shared_ptr<Job>>::iterator at;
  };
  struct Job {
    std::string key;
    std::string registry;
    inspection::ImageRequest request;
    // With the identity of each, as of its last Submit(). They are equal for the result, but a
    // token can be created only for a pod that still exists.
    std::map<kube::ObjectKey, inspection::SharedPodIdentity> pods;
    std::vector<Position> positions;  // empty once the job has started
    bool prefetch = false;
    // The UIDs of pods that it has failed for as they are gone; at most one more than kMaxRepeats.
    std::set<std::string> gone;
    std::optional<Result> result;
    kube::TimePoint finished;
    // It has ended without a result for its pods, which submit their requests again.
    bool repeat = false;

    bool ended() const { return result.has_value() || repeat; }
  };
  struct WaitingPod {
    kube::TimePoint since;
    std::vector<const std::string*> jobs;  // keys in `jobs_`, which keeps the jobs that have pods
  };
  struct RegistryQueue {
    std::list<std::shared_ptr<Job>> jobs;  // never empty
    std::list<std::string>::iterator turn;
  };
  // Exists while a job of it is queued or in flight.
  struct Namespace {
    std::string name;
    std::unordered_map<std::string, RegistryQueue> registries;
    std::list<std::string> turns;          // the keys of `registries`, the next one first
    std::list<Namespace*>::iterator turn;  // in `turns_`, while `registries` is not empty
    size_t in_flight = 0;
  };

  std::shared_ptr<Job> Enqueue(const std::string& ns, const std::string& key,
                               const inspection::ImageRequest& request);
  void AddPosition(const std::string& ns, const std::shared_ptr<Job>& job);
  void RemovePosition(const std::string& registry, const Position& position);
  void Dequeue(Job& job);
  void EraseIfIdle(Namespace& ns);
  static inspection::SharedPodIdentity PresentPod(const Job& job);
  size_t NamespaceLimit() const;
  RegistryQueue* NextRegistry(Namespace& ns);
  void StartJobs();
  kube::asio::awaitable<void> Run(Namespace* ns, std::shared_ptr<Job> job);
  void WakePods(Job& job);

  inspection::ImageInspector& images_;
  kube::Clock& clock_;
  kube::TaskGroup& tasks_;
  InspectionMetrics& metrics_;
  InspectionQueueOptions options_;
  std::function<void(const kube::ObjectKey&)> wake_;

  std::unordered_map<std::string, std::shared_ptr<Job>> jobs_;
  std::unordered_map<kube::ObjectKey, WaitingPod> pods_;
  std::unordered_map<std::string, Namespace> namespaces_;
  std::list<Namespace*> turns_;  // those with queued jobs
  std::unordered_map<std::string, size_t> in_flight_by_registry_;
  size_t queued_ = 0;
  size_t in_flight_ = 0;
  bool starting_ = false;
};

}  // namespace cluster_controller
