// SPDX-License-Identifier: Apache-2.0
// InspectionQueue: which images are being inspected now, which wait, and which pods for them.
//
//   std::optional<Result<ArchitectureSet>> answer = queue.Ask(pod, request);
//   if (!answer) ...                        // in line; `wake` is called with `pod` when there is an answer
//   queue.Forget(pod);                      // once it has all it needs, or is gone
//
// Nobody waits in here: a pod whose answer is not known costs its key, however many there are. Each registry has a line of
// its own with a bounded number of inspections at a time, and the lines take turns: a slow registry holds up the pods of
// no other. Pods that ask the same share one inspection. Thread: one.
#pragma once

#include <chrono>
#include <deque>
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
  // Inspections at a time: of one registry, and of all.
  size_t per_registry = 16;
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

  // The answer for `pod`, at once if it is known; nullopt if the pod will be woken. Errors: ImageInspector's.
  std::optional<Answer> Ask(const kube::ObjectKey& pod, const inspection::ImageRequest& request);
  // Puts the image in line for the inspector to know it later on.
  void Prefetch(const inspection::ImageRequest& request);
  // When `pod` first asked for what it waits for; nullopt if it waits for nothing.
  std::optional<kube::TimePoint> AskedSince(const kube::ObjectKey& pod) const;
  // What `pod` asked for is of no more interest to it.
  void Forget(const kube::ObjectKey& pod);

  // Inspections that wait, and those under way.
  size_t waiting() const { return waiting_; }
  size_t under_way() const { return under_way_; }

 private:
  struct Job {
    std::string key;
    inspection::ImageRequest request;
    std::set<kube::ObjectKey> pods;
    bool prefetch = false;
    bool begun = false;
    std::optional<Answer> answer;
    kube::TimePoint answered;
  };
  struct Asked {
    kube::TimePoint since;
    std::vector<const std::string*> jobs;  // keys of `jobs_`, where those stay that a pod is in
  };
  struct Line {
    std::deque<std::shared_ptr<Job>> jobs;
    size_t under_way = 0;
    bool in_turn = false;
  };

  std::shared_ptr<Job> Enqueue(const std::string& key, const inspection::ImageRequest& request);
  void TakeTurn(const std::string& registry, Line& line);
  void Pump();
  kube::asio::awaitable<void> Inspect(std::string registry, std::shared_ptr<Job> job);
  void Settle(Job& job);

  inspection::ImageInspector& images_;
  kube::Clock& clock_;
  kube::TaskGroup& tasks_;
  ControllerMetrics& metrics_;
  InspectionQueueOptions options_;
  std::function<void(const kube::ObjectKey&)> wake_;

  std::unordered_map<std::string, std::shared_ptr<Job>> jobs_;
  std::unordered_map<kube::ObjectKey, Asked> asked_;
  std::unordered_map<std::string, Line> lines_;  // by registry; those with something to do
  std::list<std::string> turns_;                 // lines that may start another
  size_t waiting_ = 0;
  size_t under_way_ = 0;
  bool pumping_ = false;
};

}  // namespace cluster_controller
