// SPDX-License-Identifier: Apache-2.0
// EventReconciler: handles ENoExecEvents. The pod of each gets a warning event and a label; then
// the object is deleted. One that is of no pod of its node is deleted alone, so a compromised node
// says nothing of the pods of others.
//
// A pod is labelled by a PUT with the resourceVersion that was compared with the object: a pod that
// was created again under its name is never labelled. Thread: the client's.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "exec-format/e_no_exec_event.h"
#include "exec-format/handler/finding.h"
#include "exec-format/handler/handler_metrics.h"
#include "exec-format/handler/limits.h"
#include "exec-format/handler/node_architectures.h"
#include "exec-format/handler/pod_finder.h"
#include "exec-format/learning/look_queue.h"
#include "exec-format/pace.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/lru_map.h"
#include "kube/cache/reader.h"
#include "kube/client/client.h"
#include "kube/controller/event_limiter.h"
#include "kube/controller/event_recorder.h"
#include "kube/controller/reconciler.h"
#include "kube/types/unstructured.h"

namespace exec_format {

// The status of a pod may be behind: how often an unknown container is looked for again, and when.
inline constexpr int kContainerRetries = 3;
inline constexpr std::chrono::seconds kContainerRetryAfter{2};
// How often a label is written that others overtake.
inline constexpr int kLabelAttempts = 5;
// After a call that fails again, such as for a missing right.
inline constexpr std::chrono::seconds kRetryRefusedAfter{60};

class EventReconciler final : public kube::Reconciler {
 public:
  // Gets each failure of which a pod was told, with the architecture of the node ("": not known).
  using OnFailure = std::function<void(Failure failure, const std::string& architecture)>;

  // All outlive it. `on_failure` may be empty.
  EventReconciler(kube::Client& client, kube::Clock& clock, kube::EventRecorder& events,
                  HandlerMetrics& metrics, OnFailure on_failure)
      : client_(client),
        clock_(clock),
        events_(events),
        metrics_(metrics),
        on_failure_(std::move(on_failure)),
        pace_(clock, kBurst, kPeriod),
        pod_events_(clock),
        logged_(clock, std::chrono::minutes(10)),
        nodes_(client, clock),
        finder_(client) {}

  // The objects to handle, until the next call; nullptr: none.
  void Read(const kube::Reader<ENoExecEvent>* objects) { objects_ = objects; }

  // Reconciler
  kube::Async<kube::Outcome> Reconcile(kube::Request request) override;

 private:
  // Of one object.
  struct Progress {
    int container_tries = 0;
    int label_conflicts = 0;
    bool is_handled = false;
  };

  std::chrono::seconds AgeOf(const ENoExecEvent& event) const;
  Progress ProgressOf(const ENoExecEvent& event);
  void Keep(const ENoExecEvent& event, Progress progress);
  // Once in a while for the same problem, of a namespace unless `ns` is empty: errors name objects.
  void Log(const std::string& log, const std::string& problem, const kube::Error& error,
           const std::string& ns = "");

  // `event` and `log` outlive the calls. Errors: those of the API server.
  kube::Async<kube::Outcome> Handle(const ENoExecEvent& event, const std::string& log);
  kube::Async<kube::Outcome> Tell(const ENoExecEvent& event, kube::Json pod,
                                  const std::string& log);
  kube::Async<kube::Outcome> Skip(const ENoExecEvent& event, Skipped why);
  kube::Async<> Remove(const ENoExecEvent& event);
  // Returns: whether the pod still exists. A refused write is logged. Errors: also kConflict.
  kube::Async<bool> Label(kube::Json pod, const std::string& log);

  kube::Client& client_;
  kube::Clock& clock_;
  kube::EventRecorder& events_;
  HandlerMetrics& metrics_;
  OnFailure on_failure_;
  const kube::Reader<ENoExecEvent>* objects_ = nullptr;
  Pace pace_;
  PodEventLimit pod_events_;
  kube::EventLimiter logged_;
  NodeArchitectures nodes_;
  PodFinder finder_;
  kube::LruMap<Progress> progress_{kMaxObjects};  // by UID
};

}  // namespace exec_format
