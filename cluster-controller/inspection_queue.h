// SPDX-License-Identifier: Apache-2.0
// InspectionQueue: which images are being inspected now, which wait, and which pods for them.
//
//   std::optional<Result<ArchitectureSet>> answer = queue.Ask(pod, request);
//   if (!answer) ...                        // in line; `wake` is called with `pod` when there is
//   an answer queue.Forget(pod);                      // once it has all it needs, or is gone
//
// Nobody waits in here: a pod whose answer is not known costs its key, however many there are.
// Namespaces take turns, the one with the fewest inspections under way first, and within a
// namespace its registries do. A namespace may have as many under way as are free for the others,
// so that one which comes new finds a place at once, however slow the images of the others are; and
// a slow registry holds up the images of no other. Pods that ask the same share one inspection,
// which begins with the first turn of any of their namespaces. Thread: one.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "cluster-controller/controller_metrics.h"
#include "inspection/inspector.h"
#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/types/resource.h"
#include "placement/architecture.h"

namespace cluster_controller {

struct InspectionQueueOptions {
  // Inspections at a time: of one registry, of one namespace, and of all.
  size_t per_registry = 16;
  size_t per_namespace = 32;
  size_t at_once = 128;
  // An answer is given to pods that ask so much later than the first, too.
  std::chrono::milliseconds share{1'000};
};

class InspectionQueue {
 public:
  using Answer = kube::Result<placement::ArchitectureSet>;

  // All outlive it but for `tasks`, which must have stopped before it goes.
  InspectionQueue(inspection::ImageInspector& images, kube::Clock& clock, kube::TaskGroup& tasks,
                  ControllerMetrics& metrics, InspectionQueueOptions options = {});

  // Who is told that a pod's answer has come.
  void OnAnswer(std::function<void(const kube::ObjectKey&)> wake) { wake_ = std::move(wake); }

  // The answer for `pod`, at once if it is known; nullopt if the pod will be woken. Errors:
  // ImageInspector's.
  std::optional<Answer> Ask(const kube::ObjectKey& pod, const inspection::ImageRequest& request);
  // Puts the image in line for the inspector to know it later on; a turn of namespace `ns` is for
  // it.
  void Prefetch(const std::string& ns, const inspection::ImageRequest& request);
  // When `pod` first asked for what it waits for; nullopt if it waits for nothing.
  std::optional<kube::TimePoint> AskedSince(const kube::ObjectKey& pod) const;
  // What `pod` asked for is of no more interest to it.
  void Forget(const kube::ObjectKey& pod);

  // Inspections that wait, and those under way.
  size_t waiting() const { return waiting_; }
  size_t under_way() const { return under_way_; }

 private:
  struct Namespace;
  struct Job;

  // Where a job waits: in the line of its registry, in a namespace.
  struct Place {
    Namespace* ns;
    std::list<std::shared_ptr<Job>>::iterator at;
  };
  struct Job {
    std::string key;
    std::string registry;
    inspection::ImageRequest request;
    std::set<kube::ObjectKey> pods;
    std::vector<Place> places;  // none once it has begun
    bool prefetch = false;
    std::optional<Answer> answer;
    kube::TimePoint answered;
  };
  struct Asked {
    kube::TimePoint since;
    std::vector<const std::string*> jobs;  // keys of `jobs_`, where those stay that a pod is in
  };
  struct Line {
    std::list<std::shared_ptr<Job>> jobs;
    std::list<std::string>::iterator turn;
  };
  // Is there while anything of it waits or is under way.
  struct Namespace {
    std::string name;
    std::unordered_map<std::string, Line> lines;  // by registry; none has no jobs
    std::list<std::string> turns;                 // registries of `lines`
    std::list<Namespace*>::iterator turn;         // in `turns_`, while there are lines
    size_t under_way = 0;
  };

  std::shared_ptr<Job> Enqueue(const std::string& ns, const std::string& key,
                               const inspection::ImageRequest& request);
  void AddPlace(const std::string& ns, const std::shared_ptr<Job>& job);
  void RemovePlace(const std::string& registry, const Place& place);
  void Withdraw(Job& job);
  void ForgetIdle(Namespace& ns);
  size_t Allowance() const;
  Line* FreeLine(Namespace& ns);
  void Pump();
  kube::asio::awaitable<void> Inspect(Namespace* ns, std::shared_ptr<Job> job);
  void Settle(Job& job);

  inspection::ImageInspector& images_;
  kube::Clock& clock_;
  kube::TaskGroup& tasks_;
  ControllerMetrics& metrics_;
  InspectionQueueOptions options_;
  std::function<void(const kube::ObjectKey&)> wake_;

  std::unordered_map<std::string, std::shared_ptr<Job>> jobs_;
  std::unordered_map<kube::ObjectKey, Asked> asked_;
  std::unordered_map<std::string, Namespace> namespaces_;
  std::list<Namespace*> turns_;                              // those with lines
  std::unordered_map<std::string, size_t> busy_registries_;  // inspections under way
  size_t waiting_ = 0;
  size_t under_way_ = 0;
  bool pumping_ = false;
};

}  // namespace cluster_controller
