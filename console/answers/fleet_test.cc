// SPDX-License-Identifier: Apache-2.0
#include "console/answers/fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>

#include "fleet/api/fleet_pod_placement.h"
#include "fleet/api/managed_cluster.h"
#include "fleet/api/managed_cluster_set.h"
#include "fleet/api/placement.h"
#include "fleet/api/placement_decision.h"
#include "fleet/testing/make_object.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/types/unstructured.h"

namespace console {
namespace {

using fleet::MakeObject;
using kube::Code;
using kube::FailsWith;
using kube::IsOk;
using kube::Json;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class FleetAnswersTest : public ::testing::Test {
 protected:
  FleetAnswersTest() {
    api_.CreateJson(fleet::kManagedClusterSets,
                    MakeObject(fleet::kManagedClusterSets, "", "all", fleet::kSelectsAll));
    api_.CreateJson(
        fleet::kManagedClusterSetBindings,
        MakeObject(fleet::kManagedClusterSetBindings, "ns", "all", R"({"clusterSet": "all"})"));
    Json near = MakeObject(fleet::kManagedClusters, "", "near")
                    .Label("zone", "a")
                    .Condition("ManagedClusterConditionAvailable", "True");
    near["status"]["clusterClaims"] =
        Json::array({{{"name", "arm64.multiarch.openshift.io"}, {"value", "4"}}});
    api_.CreateJson(fleet::kManagedClusters, near);
    api_.CreateJson(
        fleet::kManagedClusters,
        MakeObject(fleet::kManagedClusters, "", "far",
                   R"({"taints": [{"key": "a", "value": "b", "effect": "NoSelect"}]})"));
    api_.CreateJson(fleet::kPlacements,
                    MakeObject(fleet::kPlacements, "ns", "web", R"({"numberOfClusters": 1})"));
    Json decision = MakeObject(fleet::kPlacementDecisions, "ns", "web-decision-0")
                        .Label("cluster.open-cluster-management.io/placement", "web");
    decision["status"]["decisions"] = Json::array({{{"clusterName", "near"}, {"reason", ""}}});
    api_.CreateJson(fleet::kPlacementDecisions, decision);
    Json rollout = MakeObject(fleet::kFleetPodPlacements, "ns", "configs",
                              R"({"placements": [{"name": "web"}]})");
    rollout["status"] = {{"total", 2}, {"succeeded", 1}, {"timedOut", 1}};
    api_.CreateJson(fleet::kFleetPodPlacements, rollout);
  }
  kube::Result<std::string> Ask(AnswerTo answer, const std::string& query = "") {
    const Question question{.client = api_,
                            .executor = io_.get_executor(),
                            .clock = clock_,
                            .query = *Query::Parse(query)};
    return kube::Run(io_, answer(question));
  }
  Json Answer(AnswerTo answer, const std::string& query = "") {
    kube::Result<std::string> text = Ask(answer, query);
    EXPECT_THAT(text, IsOk());
    return text ? *kube::ParseJson(*text) : Json::object();
  }

  boost::asio::io_context io_{1};
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
};

TEST_F(FleetAnswersTest, ClustersPlacementsAndRollouts) {
  Json answer = Answer(AnswerFleet);
  ASSERT_THAT(answer["clusters"], SizeIs(2)) << answer;
  const Json& far = answer["clusters"][0];
  EXPECT_EQ(far["name"], "far");
  EXPECT_EQ(far["available"], nullptr);
  EXPECT_EQ(far["taints"], Json::array({"a=b:NoSelect"}));
  EXPECT_EQ(answer["clusters"][1]["available"], true);
  EXPECT_EQ(answer["clusters"][1]["architectures"], Json::array({"arm64"}));
  ASSERT_THAT(answer["placements"], SizeIs(1));
  EXPECT_EQ(answer["placements"][0]["selected"], Json::array({"near"}));
  EXPECT_EQ(answer["placements"][0]["wanted"], 1);
  ASSERT_THAT(answer["rollouts"], SizeIs(1));
  EXPECT_EQ(answer["rollouts"][0]["failed"], 1);
  EXPECT_EQ(answer["rollouts"][0]["placement"], "web");
  EXPECT_THAT(Answer(AnswerFleet, "namespace=other")["placements"], SizeIs(0));
}

TEST_F(FleetAnswersTest, WhyAPlacementSelectsAClusterOrNot) {
  Json answer = Answer(AnswerWhyPlacement, "namespace=ns&name=web");
  ASSERT_THAT(answer["clusters"], SizeIs(2)) << answer;
  EXPECT_EQ(answer["clusters"][0]["name"], "near");
  EXPECT_EQ(answer["clusters"][0]["selected"], true);
  EXPECT_TRUE(answer["clusters"][0].contains("score"));
  EXPECT_EQ(answer["clusters"][1]["selected"], false);
  EXPECT_THAT(answer["clusters"][1]["why"].get<std::string>(),
              HasSubstr("rejected by TaintToleration"));
  EXPECT_THAT(Ask(AnswerWhyPlacement, "namespace=ns&name=absent"), FailsWith(Code::kNotFound));
}

TEST_F(FleetAnswersTest, CelIsNotEvaluated) {
  api_.CreateJson(fleet::kPlacements, MakeObject(fleet::kPlacements, "ns", "cel", R"({
      "predicates": [{"requiredClusterSelector": {"celSelector": {"celExpressions": ["true"]}}}]})"));
  Json answer = Answer(AnswerWhyPlacement, "namespace=ns&name=cel");
  EXPECT_THAT(answer["error"].get<std::string>(), HasSubstr("//fleet:explain"));
}

TEST_F(FleetAnswersTest, WhatMayNotBeReadIsNamed) {
  api_.FailNext(kube::Error::PermissionDenied("jane may not"), "/managedclusters");
  EXPECT_EQ(Answer(AnswerFleet)["unread"][0]["why"], "jane may not");
}

}  // namespace
}  // namespace console
