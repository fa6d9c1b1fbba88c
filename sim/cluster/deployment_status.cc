// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/deployment_status.h"

#include <chrono>

#include "kube/types/object_fields.h"
#include "sim/base/process_clock.h"

namespace sim {
namespace {

using namespace std::chrono_literals;
using kube::Json;

// progressDeadlineSeconds, unless the Deployment has it.
constexpr int64_t kDeadline = 600;

// `before`: the Deployment.
Json Condition(const Json& before, const char* type, bool status, const char* reason,
               const std::string& message, kube::TimePoint now) {
  Json condition = {{"type", type},
                    {"status", status ? "True" : "False"},
                    {"reason", reason},
                    {"message", message},
                    {"lastTransitionTime", kube::FormatTime(WallTimeAt(now))}};
  const Json* known = kube::ConditionOf(before, type);
  if (known != nullptr && (*known)["status"] == condition["status"])
    condition["lastTransitionTime"] = (*known)["lastTransitionTime"];
  return condition;
}

}  // namespace

Json StatusOf(const Json& deployment, const DeploymentState& state, kube::TimePoint now) {
  Json status = {{"observedGeneration", kube::IntAt(deployment, "metadata.generation")}};
  // The API server drops zeros.
  auto set = [&status](const char* name, int number) {
    if (number > 0) status[name] = number;
  };
  set("replicas", state.replicas);
  set("updatedReplicas", state.updated);
  set("readyReplicas", state.ready);
  set("availableReplicas", state.ready);

  const int64_t wanted = kube::IntAt(deployment, "spec.replicas", 1);
  const bool complete =
      state.updated == wanted && state.replicas == wanted && state.ready == wanted;
  const bool available = state.ready >= wanted;
  auto deadline =
      std::chrono::seconds(kube::IntAt(deployment, "spec.progressDeadlineSeconds", kDeadline));
  const bool late = !complete && now - state.since > deadline;
  Json conditions = Json::array();
  conditions.push_back(
      Condition(deployment, "Available", available,
                available ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable", "", now));
  // A rollout that was complete stays so when pods are lost.
  const Json* before = kube::ConditionOf(deployment, "Progressing");
  const bool was_complete = before != nullptr &&
                            kube::StringAt(*before, "reason") == "NewReplicaSetAvailable" &&
                            state.updated == wanted;
  const char* reason = complete || was_complete ? "NewReplicaSetAvailable"
                       : late                   ? "ProgressDeadlineExceeded"
                                                : "ReplicaSetUpdated";
  conditions.push_back(
      Condition(deployment, "Progressing", complete || was_complete || !late, reason, "", now));
  if (!state.failure.empty()) {
    conditions.push_back(
        Condition(deployment, "ReplicaFailure", true, "FailedCreate", state.failure, now));
  }
  status["conditions"] = std::move(conditions);
  return status;
}

}  // namespace sim
