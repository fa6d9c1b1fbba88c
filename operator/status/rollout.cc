// SPDX-License-Identifier: Apache-2.0
#include "operator/status/rollout.h"

#include <algorithm>
#include <array>

#include "kube/client/refusal.h"
#include "kube/types/list_at.h"
#include "kube/types/object_fields.h"
#include "operator/objects/metadata.h"
#include "operator/status/remedies.h"

namespace operator_ {
namespace {

using kube::Json;

Problem ProblemFrom(const Json& condition) {
  return Classify({kube::StringAt(condition, "reason"), kube::StringAt(condition, "message")});
}

// Reasons of a waiting container that are failures, unlike those of a container that is starting.
bool IsProblem(std::string_view waiting_reason) {
  constexpr std::array<std::string_view, 8> kReasons = {
      "CrashLoopBackOff",     "CreateContainerConfigError",
      "CreateContainerError", "ErrImageNeverPull",
      "ErrImagePull",         "ImagePullBackOff",
      "InvalidImageName",     "RunContainerError"};
  return std::find(kReasons.begin(), kReasons.end(), waiting_reason) != kReasons.end();
}

std::optional<Problem> ProblemOfPod(const Json& pod) {
  std::string name = "pod " + kube::StringAt(pod, "metadata.name");
  const Json* scheduled = kube::ConditionOf(pod, "PodScheduled");
  if (scheduled != nullptr && kube::StringAt(*scheduled, "status") == "False") {
    Problem problem = ProblemFrom(*scheduled);
    return Problem{problem.reason, name + ": " + problem.message};
  }
  for (const Json& container : kube::ListAt(pod, "status.containerStatuses")) {
    std::string reason = kube::StringAt(container, "state.waiting.reason");
    if (IsProblem(reason))
      return Problem{reason, name + ": " + kube::StringAt(container, "state.waiting.message")};
  }
  return std::nullopt;
}

}  // namespace

Rollout RolloutOf(const Json* deployment) {
  Rollout rollout;
  if (deployment == nullptr) return rollout;
  rollout.exists = true;
  rollout.mark = MarkOf(*deployment);
  rollout.replicas = kube::IntAt(*deployment, "spec.replicas", 1);
  rollout.ready_replicas = kube::IntAt(*deployment, "status.readyReplicas");
  int64_t available = kube::IntAt(*deployment, "status.availableReplicas");
  rollout.available = available > 0;
  rollout.complete = kube::IntAt(*deployment, "status.observedGeneration") >=
                         kube::IntAt(*deployment, "metadata.generation") &&
                     kube::IntAt(*deployment, "status.updatedReplicas") == rollout.replicas &&
                     kube::IntAt(*deployment, "status.replicas") == rollout.replicas &&
                     available == rollout.replicas;
  // The label's key has dots, so it is not found by a path.
  if (const Json* labels = kube::Find(*deployment, "metadata.labels");
      labels != nullptr && labels->is_object()) {
    auto version = labels->find(std::string(kVersionLabel));
    if (version != labels->end() && version->is_string())
      rollout.version = version->get<std::string>();
  }

  const Json* available_condition = kube::ConditionOf(*deployment, "Available");
  bool unavailable = !rollout.available && available_condition != nullptr &&
                     kube::StringAt(*available_condition, "status") == "False";
  const Json* condition = kube::ConditionOf(*deployment, "ReplicaFailure");
  if (condition != nullptr && kube::StringAt(*condition, "status") == "True") {
    rollout.problem = ProblemFrom(*condition);
    rollout.cannot_create = true;
    return rollout;
  }
  condition = kube::ConditionOf(*deployment, "Progressing");
  if (condition == nullptr) return rollout;
  if (kube::StringAt(*condition, "status") == "False") {
    rollout.problem = ProblemFrom(*condition);
  } else if (unavailable && kube::StringAt(*condition, "reason") == "NewReplicaSetAvailable") {
    // The rollout was complete, so the available replicas were lost since.
    rollout.problem = ProblemFrom(*available_condition);
  }
  return rollout;
}

std::optional<Problem> ProblemOfPods(const std::vector<kube::Unstructured>& pods) {
  for (const kube::Unstructured& pod : pods) {
    if (pod.metadata().has_deletion_timestamp()) continue;
    if (std::optional<Problem> problem = ProblemOfPod(pod.body())) return problem;
  }
  return std::nullopt;
}

std::optional<Problem> ProblemOf(const kube::Error& error) {
  Problem problem =
      Classify({error.reason().empty() ? std::string(CodeName(error.code())) : error.reason(),
                error.message()});
  // The API server reports it as an error of its own (500), which otherwise passes by itself.
  if (problem.reason == "AdmissionWebhookFailed") return problem;
  if (!kube::FailsAgain(error)) return std::nullopt;
  return problem;
}

std::optional<Problem> RootCause(const Rollout& rollout, const std::optional<Problem>& pods) {
  if (rollout.cannot_create) return rollout.problem;
  return pods ? pods : rollout.problem;
}

}  // namespace operator_
