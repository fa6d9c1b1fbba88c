// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/finalizer_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/names.h"
#include "sim/checker/testing/run.h"

namespace sim::checker {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

// Finishes, and returns what was found of finalizers.
std::vector<std::string> OfFinalizers(TestRun& run, Time faults_ended = {}) {
  run.Finish(faults_ended);
  std::vector<std::string> texts;
  for (const Violation& violation : run.checker().violations()) {
    if (violation.text.find("finalizer") != std::string::npos) texts.push_back(violation.rule);
  }
  return texts;
}

void SetFinalizers(TestRun& run, std::vector<std::string> finalizers) {
  Json config = run.Stored(std::string(api::kGroup), "clusterpodplacementconfigs", "",
                           std::string(api::kClusterConfigName));
  config["metadata"]["finalizers"] = std::move(finalizers);
  run.Write(kOperatorUser, std::string(api::kGroup), "clusterpodplacementconfigs", config);
}

const std::string& Ours() {
  static const auto& name = *new std::string(api::kPodPlacementFinalizer);
  return name;
}

TEST(FinalizerRules, FinalizersOfTheOperatorMustNotStay) {
  TestRun run;
  run.SetCluster(Json::object(), /*deleting=*/true);
  SetFinalizers(run, {Ours()});
  run.Advance(4min);
  run.Advance(2min);
  EXPECT_THAT(OfFinalizers(run), ElementsAre("I7")) << run.Described();
}

TEST(FinalizerRules, TimeForATeardown) {
  TestRun run;
  run.SetCluster(Json::object(), /*deleting=*/true);
  SetFinalizers(run, {Ours()});
  run.Advance(4min);
  EXPECT_THAT(OfFinalizers(run), IsEmpty()) << run.Described();
}

TEST(FinalizerRules, TimeSinceTheLastFaultCounts) {
  TestRun run;
  run.SetCluster(Json::object(), /*deleting=*/true);
  SetFinalizers(run, {Ours()});
  run.Advance(1h);
  EXPECT_THAT(OfFinalizers(run, run.now() - 1min), IsEmpty()) << run.Described();
}

TEST(FinalizerRules, ThoseOfOthersMayStay) {
  TestRun run;
  run.SetCluster(Json::object(), /*deleting=*/true);
  SetFinalizers(run, {"example.com/other"});
  run.Advance(1h);
  EXPECT_THAT(OfFinalizers(run), IsEmpty()) << run.Described();
}

TEST(FinalizerRules, AConfigurationThatIsNotDeletedKeepsThem) {
  TestRun run;
  SetFinalizers(run, {Ours()});
  run.Advance(1h);
  EXPECT_THAT(OfFinalizers(run), IsEmpty()) << run.Described();
}

TEST(FinalizerRules, APodPlacementConfigIsAReason) {
  TestRun run;
  run.SetConfig("a", Prefers({{"arm64", 75}}));
  run.SetCluster(Json::object(), /*deleting=*/true);
  SetFinalizers(run, {Ours()});
  run.Advance(1h);
  EXPECT_THAT(OfFinalizers(run), IsEmpty()) << run.Described();
}

TEST(FinalizerRules, WithoutTheOperatorsNamespaceNobodyRemovesThem) {
  TestRun run;
  run.SetNamespace(run.facts().operator_namespace, Json::object(), /*deleting=*/true);
  run.SetCluster(Json::object(), /*deleting=*/true);
  SetFinalizers(run, {Ours()});
  run.Advance(1h);
  EXPECT_THAT(OfFinalizers(run), IsEmpty()) << run.Described();
}

}  // namespace
}  // namespace sim::checker
