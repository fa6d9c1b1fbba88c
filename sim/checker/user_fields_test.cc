// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/user_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/names.h"
#include "sim/checker/testing/run.h"

namespace sim::checker {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kRequired[] = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr char kPreferred[] = "preferredDuringSchedulingIgnoredDuringExecution";

// A pod with settings of its author wherever a program adds some, and with an unknown field.
Json PodOfUser() {
  Json pod = Labelled(Pod("web"), "app", "web");
  pod = Annotated(pod, "note", "mine");
  pod = Requiring(pod, "zone", {"a", "b"});
  pod["spec"]["affinity"]["nodeAffinity"][kPreferred] = Json::array(
      {{{"weight", 5},
        {"preference",
         {{"matchExpressions", Json::array({{{"key", "disk"}, {"operator", "Exists"}}})}}}}});
  pod["spec"]["tolerations"] = Json::array({{{"key", "spot"}, {"operator", "Exists"}}});
  pod["spec"]["fieldOfTheFuture"] = {{"deep", Json::array({1, 2})}};
  return pod;
}

Json Term(Json& pod) {
  return pod["spec"]["affinity"]["nodeAffinity"][kRequired]["nodeSelectorTerms"][0];
}

class UserFields : public testing::Test {
 protected:
  UserFields() {
    run_.SetCluster(
        {{"plugins",
          {{"architectureTolerations", {{"enabled", true}}},
           {"nodeAffinityScoring",
            {{"enabled", true},
             {"platforms", Json::array({{{"architecture", "arm64"}, {"weight", 75}}})}}}}}});
    run_.Advance(std::chrono::minutes(1));
    gated_ = run_.CreatePod(PodOfUser());
    placed_ = Placed(gated_, {"amd64", "arm64"});
    placed_ = Preferring(placed_, "arm64", 75, "ClusterPodPlacementConfig");
    placed_ = Tolerating(Tolerating(placed_, "amd64"), "arm64");
  }

  std::vector<std::string> Found(Json placed) {
    run_.WritePod(kController, std::move(placed));
    return run_.Found();
  }

  TestRun run_;
  Json gated_, placed_;
};

TEST_F(UserFields, Kept) {
  EXPECT_THAT(Found(placed_), IsEmpty()) << run_.Described();
  EXPECT_EQ(run_.checker().judged().judged, 1u);
}

TEST_F(UserFields, UnknownFieldLost) {
  placed_["spec"].erase("fieldOfTheFuture");
  EXPECT_THAT(Found(placed_), ElementsAre("I5")) << run_.Described();
}

TEST_F(UserFields, UnknownFieldChanged) {
  placed_["spec"]["fieldOfTheFuture"]["deep"][1] = 3;
  EXPECT_THAT(Found(placed_), ElementsAre("I5")) << run_.Described();
}

TEST_F(UserFields, LabelLost) {
  EXPECT_THAT(Found(WithoutLabel(placed_, "app")), ElementsAre("I5")) << run_.Described();
}

TEST_F(UserFields, LabelThatOptsOutSet) {
  EXPECT_THAT(Found(Labelled(placed_, std::string(api::kExcludeLabel))), ElementsAre("I5"));
}

TEST_F(UserFields, AnnotationChanged) {
  EXPECT_THAT(Found(Annotated(placed_, "note", "yours")), ElementsAre("I5"));
}

TEST_F(UserFields, AnnotationOfTheWebhookChanged) {
  EXPECT_THAT(Found(Annotated(placed_, std::string(api::kLocalConfigsAnnotation), "arm")),
              ElementsAre("I5"));
}

TEST_F(UserFields, RequiredExpressionChanged) {
  placed_["spec"]["affinity"]["nodeAffinity"][kRequired]["nodeSelectorTerms"][0]["matchExpressions"]
         [0]["values"] = Json::array({"a"});
  EXPECT_THAT(Found(placed_), Contains("I5")) << run_.Described();
}

TEST_F(UserFields, RequiredTermAdded) {
  Json& terms = placed_["spec"]["affinity"]["nodeAffinity"][kRequired]["nodeSelectorTerms"];
  terms.push_back(Term(placed_));
  EXPECT_THAT(Found(placed_), Contains("I5")) << run_.Described();
}

TEST_F(UserFields, PreferredTermLost) {
  placed_["spec"]["affinity"]["nodeAffinity"][kPreferred].erase(0);
  EXPECT_THAT(Found(placed_), ElementsAre("I5")) << run_.Described();
}

TEST_F(UserFields, PreferredTermOfAnotherKeyAdded) {
  Json& terms = placed_["spec"]["affinity"]["nodeAffinity"][kPreferred];
  terms.push_back(terms[0]);
  EXPECT_THAT(Found(placed_), Contains("I5")) << run_.Described();
}

TEST_F(UserFields, TolerationLost) {
  placed_["spec"]["tolerations"].erase(0);
  EXPECT_THAT(Found(placed_), ElementsAre("I5")) << run_.Described();
}

TEST(UserFieldsOfGates, GateOfAnotherControllerRemoved) {
  TestRun run;
  Json pod = run.CreatePod(Gated(Pod("web"), "kueue.x-k8s.io/admission"));
  run.WritePod(kController,
               WithoutGate(Placed(pod, {"amd64", "arm64"}), "kueue.x-k8s.io/admission"));
  EXPECT_THAT(run.Found(), Contains("I5")) << run.Described();
}

TEST_F(UserFields, ChangeOfAnotherClientLost) {
  run_.WritePod(kUser, Labelled(gated_, "app", "web2"));
  // The write of a controller that has not seen the edit, and sends no resourceVersion.
  EXPECT_THAT(Found(placed_), ElementsAre("I5")) << run_.Described();
}

TEST_F(UserFields, StatusLost) {
  placed_.erase("status");
  EXPECT_THAT(Found(placed_), ElementsAre("I5")) << run_.Described();
}

TEST(UserFieldsOfShard, SetsNoRequirement) {
  TestRun run;
  run.SetConfig("arm", Prefers({{"arm64", 75}}));
  Json pod = run.CreatePod(Pod("web"), /*local=*/true);
  pod = Preferring(pod, "arm64", 75, "PodPlacementConfig-arm");
  run.WritePod(kShardOfShop,
               WithoutGate(Requiring(pod, "kubernetes.io/arch", {"amd64"}), api::kLocalGate));
  EXPECT_THAT(run.Found(), ElementsAre("I5")) << run.Described();
}

TEST(UserFieldsOfOperator, SetsNothingButGatesAndLabels) {
  TestRun run;
  run.SetCluster(Json::object(), /*deleting=*/true);
  Json pod = run.CreatePod(Pod("web"));
  Json other = run.CreatePod(Pod("other"));
  run.WritePod(kOperatorUser, WithoutGate(pod, api::kClusterGate));
  EXPECT_THAT(run.Found(), IsEmpty()) << run.Described();
  run.WritePod(kOperatorUser, Placed(other, {"amd64"}));
  EXPECT_THAT(run.Found(), Contains("I5")) << run.Described();
}

TEST(UserFieldsOfPolicies, CriteriaMayBeAdded) {
  TestRun run;
  run.Write(kUser, "kupid.gardener.cloud", "clusterpodschedulingpolicies",
            {{"metadata", {{"name", "zones"}}}});
  Json pod = run.CreatePod(Pod("web"));
  Json placed = Placed(pod, {"amd64", "arm64"});
  placed["spec"]["nodeSelector"] = {{"zone", "a"}};
  run.WritePod(kController, placed);
  EXPECT_THAT(run.Found(), IsEmpty()) << run.Described();
  EXPECT_EQ(run.checker().judged().not_judged.at("scheduling policies"), 1u);
}

TEST(UserFieldsOfAdmission, KeepsWhatWasSent) {
  TestRun run;
  Json sent = PodOfUser();
  run.CreatePod(sent);
  EXPECT_THAT(run.Found(), IsEmpty()) << run.Described();
  sent["metadata"]["name"] = "other";
  Json stored = Gated(sent, api::kClusterGate);
  stored["spec"].erase("fieldOfTheFuture");
  run.Write(kUser, "", "pods", stored, "", sent);
  EXPECT_THAT(run.Found(), ElementsAre("I5")) << run.Described();
}

// Programs with the client library of Kubernetes 1.30 send "creationTimestamp": null.
TEST(UserFieldsOfAdmission, ANullIsNothingThatWasSent) {
  TestRun run;
  Json sent = PodOfUser();
  sent["metadata"]["creationTimestamp"] = nullptr;
  Json stored = Gated(sent, api::kClusterGate);
  stored["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z";
  run.Write(kUser, "", "pods", stored, "", sent);
  EXPECT_THAT(run.Found(), IsEmpty()) << run.Described();
}

TEST(UserFieldsText, NamesTheFirstDifferences) {
  Json pod = Pod("web");
  EXPECT_EQ(DescribeDifference(pod, pod), "");
  EXPECT_EQ(DescribeDifference(pod, Labelled(pod, "a", "b")), "add /metadata/labels");
}

}  // namespace
}  // namespace sim::checker
