// SPDX-License-Identifier: Apache-2.0
// Teardown: removes the operands of one scope (a namespace's shard, or the cluster's operands) in
// the order that leaves no gated pod behind (I7):
//
//   1. the webhook configuration and the policies: from then on no pod is gated;
//   2. the gates: the controller drains its pods; pods that it does not release in time are ungated
//      here;
//   3. all other objects; when the pods of the operands have ended, what they could create again;
//      last the authority's Secret, which marks a teardown that is not complete.
//
// The cluster's state alone decides whether a teardown is due, and every step can be repeated:
// another operator continues at any point. A pod whose write is refused, or a client that keeps
// creating gated pods, delays the teardown by a bounded time; such pods are then left gated, with a
// log line and events. Thread: the client's.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/controller/event_recorder.h"
#include "kube/controller/reconciler.h"
#include "operator/objects/desired_object.h"
#include "operator/objects/operand_store.h"
#include "operator/teardown/ungate.h"

namespace operator_ {

struct TeardownTiming {
  // API servers may call a webhook, or apply a policy, for this long after it was deleted: a list
  // of pods that began earlier proves nothing.
  std::chrono::milliseconds settle{2'000};
  // How long an available controller may take to drain its pods before they are ungated here.
  std::chrono::milliseconds drain;
  // How long the teardown then waits for pods that are still gated, and how many attempts each pod
  // gets at least.
  std::chrono::milliseconds give_up{60'000};
  int attempts = 3;
  // Between two rounds over the pods.
  std::chrono::milliseconds poll{1'000};
  // The longest wait for the pods of the operands to end: twice their grace period. Those of a node
  // that is away never do.
  std::chrono::milliseconds end{60'000};
};

enum class TeardownPhase {
  kDraining,        // the controller is available and has time left
  kControllerDown,  // the controller is not available and has time left
  kDrained,         // the time is up
};

struct TeardownScope {
  // The start of log lines, Request::log.
  std::string log;
  // Whose pods are looked at; empty: those of all namespaces.
  std::string ns;
  // What gates pods, the first one whether it is known to exist or not.
  std::vector<ObjectId> gating;
  bool controller_available = false;
  // As ChooseGates (ungate.h), for a round that began in `phase`.
  std::function<std::optional<std::vector<std::string>>(const kube::core::Pod& pod,
                                                        TeardownPhase phase)>
      choose_gates;
  // In the order of removal.
  std::vector<ObjectId> objects;
  // The same, but if the operator may not remove one, it stays: no config waits for it (I7).
  std::vector<ObjectId> optional_objects = {};
  // Pods of `ns` by label, and which of `objects` they may create again until they have ended: an
  // API server may allow it after their Role was deleted.
  std::string pods = {};
  std::vector<ObjectId> created_by_pods = {};
  kube::ObjectKey authority;
};

class Teardown {
 public:
  // Everything but `timing` outlives this.
  Teardown(kube::Client& client, kube::Clock& clock, OperandStore& store,
           kube::EventRecorder& events, TeardownTiming timing);

  // Starts or continues the teardown of `scope`, which may be another one in each call. Returns:
  // Done() when no object of it is left, After() while it has to be called again. Errors: the API
  // server's; call again. Never runs twice at once for one namespace.
  kube::Async<kube::Outcome> Run(TeardownScope scope);
  // The next Run() for `ns` ungates pods even if no object is left. For a caller that has deleted
  // what gates pods.
  void Begin(const std::string& ns);
  // Forgets the teardown of `ns`: its operands are wanted again.
  void Cancel(const std::string& ns) { running_.erase(ns); }

  bool IsRunning(const std::string& ns) const { return running_.contains(ns); }
  // What the teardown of `ns` waits for, as a line for a status; "" if none is running.
  std::string WaitsFor(const std::string& ns) const;

 private:
  struct State {
    // When what gates pods was deleted.
    kube::TimePoint since;
    // The deleted objects: plural and name.
    std::set<std::pair<std::string_view, std::string>> removed;
    // The current round over the pods, when it began, the gates that it removes, and the last
    // complete round.
    UngateRound round;
    kube::TimePoint round_began;
    ChooseGates choose;
    UngateRound last;
    // The number of complete rounds that removed gates from all gated pods.
    int attempts = 0;
    // When the objects were removed; not yet what pods may create again.
    std::optional<kube::TimePoint> removed_at;
    std::string waits_for;
  };

  kube::Async<bool> AnythingLeft(const TeardownScope& scope);
  // Removes what gates pods, each object once. Begins the teardown.
  kube::Async<> StopGating(const TeardownScope& scope);
  // One step of a round. Returns: whether the round is complete.
  kube::Async<bool> UngatePods(const TeardownScope& scope, State& state);
  // Logs the pods that the last round left gated, and records events for the first of them.
  void ReportGatedPods(const TeardownScope& scope, const State& state);
  // An object that cannot be deleted does not prevent the deletion of the others. Errors: the last
  // one.
  kube::Async<> RemoveObjects(const TeardownScope& scope);
  // Whether a pod of the operands may still run.
  kube::Async<bool> AnyPodRuns(const TeardownScope& scope);
  // What its pods may have created again, and the authority.
  kube::Async<> RemoveLastObjects(const TeardownScope& scope);

  kube::Client& client_;
  kube::Clock& clock_;
  OperandStore& store_;
  kube::EventRecorder& events_;
  TeardownTiming timing_;
  std::map<std::string, State> running_;  // by namespace of the scope
};

}  // namespace operator_
