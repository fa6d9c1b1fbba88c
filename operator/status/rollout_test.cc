// SPDX-License-Identifier: Apache-2.0
#include "operator/status/rollout.h"

#include <gtest/gtest.h>

namespace operator_ {
namespace {

using kube::Error;
using kube::Json;
using kube::Unstructured;

Json Deployment(const char* status, int generation = 1) {
  Json json = {{"kind", "Deployment"}, {"metadata", {{"name", "d"}, {"generation", generation}}}};
  json["metadata"]["labels"]["app.kubernetes.io/version"] = "1.2";
  json["spec"]["replicas"] = 1;
  json["status"] = *kube::ParseJson(status);
  return json;
}

Unstructured Pod(const char* status) {
  return Unstructured(Json{{"metadata", {{"name", "p"}}}, {"status", *kube::ParseJson(status)}});
}

constexpr char kDone[] =
    R"({"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1})";

TEST(RolloutTest, AMissingDeploymentIsAnEmptyRollout) {
  Rollout rollout = RolloutOf(nullptr);
  EXPECT_FALSE(rollout.exists);
  EXPECT_FALSE(rollout.available);
  EXPECT_FALSE(rollout.complete);
}

TEST(RolloutTest, IsCompleteWhenAllReplicasAreNewAndAvailable) {
  Json deployment = Deployment(kDone);
  Rollout rollout = RolloutOf(&deployment);
  EXPECT_TRUE(rollout.available);
  EXPECT_TRUE(rollout.complete);
  EXPECT_EQ(rollout.ready_replicas, 1);
  EXPECT_EQ(rollout.version, "1.2");
}

TEST(RolloutTest, IsNotCompleteForAnUnobservedGeneration) {
  Json deployment = Deployment(kDone, /*generation=*/2);
  EXPECT_FALSE(RolloutOf(&deployment).complete);
  EXPECT_TRUE(RolloutOf(&deployment).available);
}

TEST(RolloutTest, ReportsAQuotaFromTheDeployment) {
  Json deployment = Deployment(R"({"conditions": [
      {"type": "Available", "status": "False", "lastTransitionTime": "2026-01-01T00:00:00Z"},
      {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "exceeded quota: q"},
      {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]})");
  Rollout rollout = RolloutOf(&deployment);
  EXPECT_EQ(rollout.problem, (Problem{"QuotaExceeded", "exceeded quota: q"}));
  EXPECT_TRUE(rollout.cannot_create);
}

// As when its node was lost: no rollout fails, no container waits.
TEST(RolloutTest, ADeploymentThatIsNoLongerAvailableHasAProblem) {
  const char* status = R"({"conditions": [
      {"type": "Available", "status": "False", "reason": "MinimumReplicasUnavailable", "message": "too few",
       "lastTransitionTime": "2026-01-01T00:00:00Z"},
      {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}]})";
  Json deployment = Deployment(status);
  EXPECT_EQ(RolloutOf(&deployment).problem, (Problem{"MinimumReplicasUnavailable", "too few"}));
  // A rollout that is under way may still succeed.
  deployment["status"]["conditions"][1]["reason"] = "ReplicaSetUpdated";
  EXPECT_EQ(RolloutOf(&deployment).problem, std::nullopt);
}

TEST(RolloutTest, AcceptsAStatusOfTheWrongShape) {
  Json deployment = Deployment(R"({"conditions": {"a": 1}, "replicas": "x"})");
  EXPECT_FALSE(RolloutOf(&deployment).problem);
  deployment["status"] = 3;
  EXPECT_FALSE(RolloutOf(&deployment).complete);
}

TEST(ProblemOfPodsTest, NamesPodReasonAndMessage) {
  struct Row {
    const char* status;
    std::optional<Problem> problem;
  };
  const Row rows[] = {
      {R"({"containerStatuses": [{"state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}]})",
       Problem{"ImagePullBackOff", "pod p: no such image"}},
      {R"({"containerStatuses": [{"state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}}]})",
       Problem{"CrashLoopBackOff", "pod p: back-off"}},
      {R"({"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3"}]})",
       Problem{"Unschedulable", "pod p: 0/3"}},
      // Just started.
      {R"({"containerStatuses": [{"state": {"waiting": {"reason": "ContainerCreating"}}}]})",
       std::nullopt},
      {R"({"containerStatuses": [{"state": {"running": {}}}]})", std::nullopt},
      {R"({})", std::nullopt},
  };
  for (const Row& row : rows)
    EXPECT_EQ(ProblemOfPods({Pod(row.status)}), row.problem) << row.status;
}

TEST(ProblemOfPodsTest, SkipsPodsThatAreBeingDeleted) {
  Json json = {{"metadata", {{"name", "p"}, {"deletionTimestamp", "2026-01-01T00:00:00Z"}}}};
  json["status"] = *kube::ParseJson(
      R"({"containerStatuses": [{"state": {"waiting": {"reason": "CrashLoopBackOff"}}}]})");
  EXPECT_FALSE(ProblemOfPods({Unstructured(json)}));
}

TEST(ProblemOfTest, IsNoTransientError) {
  EXPECT_EQ(ProblemOf(Error::FromHttpStatus(403, "Forbidden", "exceeded quota")),
            (Problem{"QuotaExceeded", "exceeded quota"}));
  Problem webhook{"AdmissionWebhookFailed", "failed calling webhook \"x\": timeout"};
  EXPECT_EQ(ProblemOf(Error::FromHttpStatus(500, "InternalError", webhook.message)), webhook);
  EXPECT_EQ(ProblemOf(Error::FromHttpStatus(409, "Conflict", "newer")), std::nullopt);
  EXPECT_EQ(ProblemOf(Error::Unavailable("refused")), std::nullopt);
  EXPECT_EQ(ProblemOf(Error::FromHttpStatus(500, "InternalError", "etcd has no leader")),
            std::nullopt);
}

TEST(ProblemOfTest, IsAnAdmissionWebhookThatDoesNotAnswer) {
  std::string message = "failed calling webhook \"a.b\": connection refused";
  EXPECT_EQ(ProblemOf(Error::FromHttpStatus(500, "InternalError", message)),
            (Problem{"AdmissionWebhookFailed", message}));
}

TEST(RootCauseTest, IsThatOfThePodsUnlessTheyCannotBeCreated) {
  Rollout slow{.problem = Problem{"ProgressDeadlineExceeded", ""}};
  Rollout quota{.problem = Problem{"QuotaExceeded", ""}, .cannot_create = true};
  Problem crash{"CrashLoopBackOff", ""};
  EXPECT_EQ(RootCause(slow, crash)->reason, "CrashLoopBackOff");
  EXPECT_EQ(RootCause(slow, std::nullopt)->reason, "ProgressDeadlineExceeded");
  EXPECT_EQ(RootCause(quota, crash)->reason, "QuotaExceeded");
  EXPECT_FALSE(RootCause(Rollout(), std::nullopt));
}

}  // namespace
}  // namespace operator_
