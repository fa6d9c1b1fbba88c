// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/decision_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "fleet/api/placement_decision.h"
#include "fleet/testing/make_object.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/types/unstructured.h"

namespace fleet {
namespace {

using kube::Code;
using kube::FailsWith;
using kube::IsOk;
using kube::Json;
using kube::Result;
using Kind = DecisionWrite::Kind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DecisionWriterTest : public testing::Test, public DecisionListener {
 protected:
  void OnStored(const PlacementDecision& decision) override {
    heard_.push_back("stored " + decision.name + " " + std::to_string(decision.decisions.size()));
    EXPECT_EQ(decision.resource_version, Get(decision.name)["metadata"]["resourceVersion"]);
  }
  void OnDeleted(const kube::ObjectKey& decision) override {
    heard_.push_back("deleted " + decision.ToString());
  }

  // Adds a PlacementDecision of another's making.
  void Create(const std::string& name) {
    Json owners = {{{"uid", "u-old"}, {"controller", true}}, {{"uid", "u-other"}}};
    api_.CreateJson(kPlacementDecisions, MakeObject(kPlacementDecisions, "ns", name)
                                             .Label("mine", "stays")
                                             .Set("/metadata/ownerReferences", owners));
  }
  Json Get(const std::string& name) {
    return api_.GetJson(kPlacementDecisions, {"ns", name}).value_or(Json());
  }
  Result<> Write(std::vector<DecisionWrite> plan) {
    std::map<std::string, std::string> versions;
    for (const Json& decision : api_.ListJson(kPlacementDecisions, "ns")) {
      versions[decision["metadata"]["name"]] =
          stale_ ? "1" : std::string(decision["metadata"]["resourceVersion"]);
    }
    DecisionOwner owner{{"ns", "p"}, "u-1"};
    return kube::Run(
        io_, WriteDecisions(api_, owner, std::move(plan), std::move(versions), *this, changes_));
  }

  boost::asio::io_context io_;
  kube::FakeApiServer api_;
  DecisionChanges changes_;
  bool stale_ = false;
  std::vector<std::string> heard_;
};

TEST_F(DecisionWriterTest, CreatesWithLabelsAndOwner) {
  ASSERT_THAT(Write({{.kind = Kind::kCreate, .name = "p-decision-1", .group = {"0", "canary"}},
                     {.kind = Kind::kDecisions,
                      .name = "p-decision-1",
                      .decisions = {{.cluster = "c1"}, {.cluster = "c2", .score = 7}}}}),
              IsOk());
  Json decision = Get("p-decision-1");
  EXPECT_EQ(decision["metadata"]["labels"], kube::MustParseJson(R"({
      "cluster.open-cluster-management.io/placement": "p",
      "cluster.open-cluster-management.io/decision-group-index": "0",
      "cluster.open-cluster-management.io/decision-group-name": "canary"})"));
  EXPECT_EQ(decision["metadata"]["ownerReferences"], kube::MustParseJson(R"([{
      "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
      "name": "p", "uid": "u-1", "controller": true, "blockOwnerDeletion": true}])"));
  EXPECT_EQ(decision["status"]["decisions"], kube::MustParseJson(R"([
      {"clusterName": "c1", "reason": ""}, {"clusterName": "c2", "reason": "", "score": 7}])"));
  EXPECT_THAT(changes_.created, ElementsAre("p-decision-1"));
  EXPECT_THAT(changes_.updated, ElementsAre());
}

TEST_F(DecisionWriterTest, RepairsLabelsAndOwnerAndKeepsOthers) {
  Create("p-decision-1");
  ASSERT_THAT(Write({{.kind = Kind::kLabels, .name = "p-decision-1", .group = {"1", ""}}}), IsOk());
  Json metadata = Get("p-decision-1")["metadata"];
  EXPECT_EQ(metadata["labels"]["mine"], "stays");
  EXPECT_EQ(metadata["labels"]["cluster.open-cluster-management.io/placement"], "p");
  EXPECT_EQ(metadata["labels"]["cluster.open-cluster-management.io/decision-group-index"], "1");
  ASSERT_EQ(metadata["ownerReferences"].size(), 2u);
  EXPECT_EQ(metadata["ownerReferences"][0]["uid"], "u-1");
  EXPECT_EQ(metadata["ownerReferences"][1]["uid"], "u-other");
  EXPECT_THAT(changes_.updated, ElementsAre("p-decision-1"));
}

TEST_F(DecisionWriterTest, IsGuardedByTheVersion) {
  Create("p-decision-1");
  stale_ = true;
  for (Kind kind : {Kind::kLabels, Kind::kDecisions, Kind::kDelete}) {
    EXPECT_THAT(Write({{.kind = kind, .name = "p-decision-1", .group = {"0", ""}}}),
                FailsWith(Code::kConflict));
  }
  EXPECT_THAT(Write({{.kind = Kind::kCreate, .name = "p-decision-1"}}), FailsWith(Code::kConflict));
  EXPECT_THAT(Write({{.kind = Kind::kDecisions, .name = "p-decision-2"}}),
              FailsWith(Code::kConflict));
  EXPECT_FALSE(Get("p-decision-1")["metadata"]["labels"].contains(
      "cluster.open-cluster-management.io/placement"));
}

TEST_F(DecisionWriterTest, FailureStopsTheRest) {
  Create("p-decision-1");
  Create("p-decision-2");
  api_.FailNext(kube::Error::Unavailable("503"), "p-decision-2/status");
  EXPECT_THAT(
      Write({{.kind = Kind::kDecisions, .name = "p-decision-1", .decisions = {{.cluster = "c1"}}},
             {.kind = Kind::kDecisions, .name = "p-decision-2", .decisions = {{.cluster = "c2"}}},
             {.kind = Kind::kDelete, .name = "p-decision-1"}}),
      FailsWith(Code::kUnavailable, HasSubstr("p-decision-2")));
  EXPECT_EQ(Get("p-decision-1")["status"]["decisions"][0]["clusterName"], "c1");
  EXPECT_THAT(changes_.updated, ElementsAre("p-decision-1"));
  EXPECT_THAT(changes_.deleted, ElementsAre());
}

TEST_F(DecisionWriterTest, TemporaryOnesAreNoChange) {
  Create("p-decision-1");
  ASSERT_THAT(
      Write({{.kind = Kind::kCreate, .name = "p-decision-2", .group = {"0", ""}},
             {.kind = Kind::kDecisions, .name = "p-decision-2", .decisions = {{.cluster = "c1"}}},
             {.kind = Kind::kDelete, .name = "p-decision-1"},
             {.kind = Kind::kDelete, .name = "p-decision-2"}}),
      IsOk());
  EXPECT_TRUE(api_.ListJson(kPlacementDecisions).empty());
  EXPECT_THAT(changes_.created, ElementsAre());
  EXPECT_THAT(changes_.updated, ElementsAre());
  EXPECT_THAT(changes_.deleted, ElementsAre("p-decision-1"));
  EXPECT_THAT(heard_, ElementsAre("stored p-decision-2 0", "stored p-decision-2 1",
                                  "deleted ns/p-decision-1", "deleted ns/p-decision-2"));
}

}  // namespace
}  // namespace fleet
