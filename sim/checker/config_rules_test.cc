// SPDX-License-Identifier: Apache-2.0
// Configurations as the operator's webhook admits them, and their status at the end.
#include "sim/checker/config_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/checker/testing/run.h"

namespace sim::checker {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kGroup[] = "multiarch.openshift.io";

// With the validating webhook.
class ConfigRulesTest : public testing::Test {
 protected:
  ConfigRulesTest() {
    run_.Write(
        kOperatorUser, "admissionregistration.k8s.io", "validatingwebhookconfigurations",
        {{"metadata", {{"name", "multiarch-tuning-operator-validating-webhook-configuration"}}}});
    run_.Advance(1min);
  }

  TestRun run_;
};

TEST_F(ConfigRulesTest, AnnouncedConfig) {
  run_.SetConfig("arm", Prefers({{"arm64", 75}}));
  run_.SetConfig("arm", Prefers({{"arm64", 25}}));
  EXPECT_THAT(run_.Found(), IsEmpty()) << run_.Described();
}

TEST_F(ConfigRulesTest, ConfigThatIsNotAnnounced) {
  run_.SetConfig("arm", Prefers({{"arm64", 75}}), /*announced=*/false);
  EXPECT_THAT(run_.Found(), ElementsAre("announcements")) << run_.Described();
}

TEST_F(ConfigRulesTest, UpdateThatIsNotAnnounced) {
  run_.SetConfig("arm", Prefers({{"arm64", 75}}));
  run_.SetConfig("arm", Prefers({{"arm64", 25}}), /*announced=*/false);
  EXPECT_THAT(run_.Found(), ElementsAre("announcements")) << run_.Described();
}

TEST_F(ConfigRulesTest, ConfigThatCannotBeAnnounced) {
  run_.facts().announcement_faults.Begin(run_.now());
  run_.SetConfig("arm", Prefers({{"arm64", 75}}), /*announced=*/false);
  EXPECT_THAT(run_.Found(), IsEmpty()) << run_.Described();
}

TEST_F(ConfigRulesTest, ConfigOfANamespaceThatIsDeleted) {
  run_.SetConfig("arm", Prefers({{"arm64", 75}}));
  run_.SetNamespace("shop", Json::object(), /*deleting=*/true);
  run_.SetConfig("arm", Prefers({{"arm64", 25}}), /*announced=*/false);
  EXPECT_THAT(run_.Found(), IsEmpty()) << run_.Described();
}

TEST_F(ConfigRulesTest, StoredTooSoonAfterTheAnnouncement) {
  run_.facts().timing.announced_ahead = 10s;  // SetConfig() waits for less
  run_.SetConfig("arm", Prefers({{"arm64", 75}}));
  EXPECT_THAT(run_.Found(), ElementsAre("announcements")) << run_.Described();
}

TEST_F(ConfigRulesTest, WithoutClusterConfig) {
  run_.DeleteCluster();
  run_.Advance(1min);
  run_.SetConfig("arm", Prefers({{"arm64", 75}}));
  EXPECT_THAT(run_.Found(), ElementsAre("validation")) << run_.Described();
}

TEST_F(ConfigRulesTest, ClusterConfigGoesLast) {
  run_.SetConfig("arm", Prefers({{"arm64", 75}}));
  run_.Advance(1min);
  run_.DeleteCluster();
  EXPECT_THAT(run_.Found(), ElementsAre("validation")) << run_.Described();
}

TEST_F(ConfigRulesTest, ClusterConfigGoesWithTheOperatorsNamespace) {
  run_.SetConfig("arm", Prefers({{"arm64", 75}}));
  run_.Advance(1min);
  run_.SetNamespace("openshift-multiarch-tuning-operator", Json::object(), /*deleting=*/true);
  run_.DeleteCluster();
  EXPECT_THAT(run_.Found(), IsEmpty()) << run_.Described();
}

TEST_F(ConfigRulesTest, OnePriorityInANamespace) {
  run_.SetConfig("arm", Prefers({{"arm64", 75}}, 1));
  run_.SetConfig("race", Prefers({{"amd64", 75}}, 1));  // at the same time
  run_.Advance(1min);
  run_.SetConfig("other", Prefers({{"amd64", 75}}, 2));
  EXPECT_THAT(run_.Found(), IsEmpty()) << run_.Described();
  run_.SetConfig("late", Prefers({{"amd64", 75}}, 1));
  EXPECT_THAT(run_.Found(), ElementsAre("validation")) << run_.Described();
  run_.SetConfig("other", Prefers({{"amd64", 75}}, 1));
  EXPECT_THAT(run_.Found(), ElementsAre("validation", "validation")) << run_.Described();
}

class StatusRulesTest : public testing::Test {
 protected:
  void SetStatus(const std::string& name, int64_t observed, const std::string& unavailable = "") {
    Json object = run_.Stored(kGroup, "podplacementconfigs", "shop", name);
    Json condition = {{"type", "Available"}, {"status", unavailable.empty() ? "True" : "False"}};
    condition["reason"] = unavailable.empty() ? "AsExpected" : unavailable;
    object["status"] = {{"observedGeneration", observed}, {"conditions", Json::array({condition})}};
    run_.Write(kOperatorUser, kGroup, "podplacementconfigs", object, "status");
  }
  std::vector<std::string> AtEnd() {
    run_.Advance(1h);
    run_.Finish();
    return run_.Found();
  }

  TestRun run_;
};

TEST_F(StatusRulesTest, OfThePresentGeneration) {
  run_.SetConfig("arm", Prefers({{"arm64", 75}}));
  SetStatus("arm", 1);
  EXPECT_THAT(AtEnd(), IsEmpty()) << run_.Described();
}

TEST_F(StatusRulesTest, OfAnOlderGeneration) {
  run_.SetConfig("arm", Prefers({{"arm64", 75}}));
  SetStatus("arm", 1);
  run_.SetConfig("arm", Prefers({{"arm64", 25}}));
  EXPECT_THAT(AtEnd(), ElementsAre("status")) << run_.Described();
}

TEST_F(StatusRulesTest, OfTheYoungerOfTwoWithOnePriority) {
  run_.SetConfig("older", Prefers({{"arm64", 75}}));
  run_.SetConfig("younger", Prefers({{"arm64", 75}}));
  SetStatus("older", 1);
  SetStatus("younger", 1, "PriorityConflict");
  EXPECT_THAT(AtEnd(), IsEmpty()) << run_.Described();
}

TEST_F(StatusRulesTest, OfTheWrongOneOfTwo) {
  run_.SetConfig("older", Prefers({{"arm64", 75}}));
  run_.SetConfig("younger", Prefers({{"arm64", 75}}));
  SetStatus("older", 1, "PriorityConflict");
  SetStatus("younger", 1);
  EXPECT_THAT(AtEnd(), ElementsAre("status", "status")) << run_.Described();
}

}  // namespace
}  // namespace sim::checker
