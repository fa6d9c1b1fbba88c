// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/shrink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

namespace sim {
namespace {

using namespace std::chrono_literals;
using kube::Json;
using testing::ElementsAre;
using testing::IsEmpty;

// Steps "0", "1", ... of a second each.
Plan Of(int steps) {
  Plan plan{.seed = 1, .length = 1h};
  for (int i = 0; i < steps; ++i)
    plan.steps.push_back({i * 1s, std::to_string(i), {{"for", 40}, {"of", {"a", "b", "c"}}}});
  return plan;
}

std::vector<std::string> NamesIn(const Plan& plan) {
  std::vector<std::string> names;
  for (const Step& step : plan.steps) names.push_back(step.operation);
  return names;
}

bool Has(const Plan& plan, const std::string& name) {
  return std::any_of(plan.steps.begin(), plan.steps.end(),
                     [&](const Step& step) { return step.operation == name; });
}

TEST(Shrink, KeepsTheStepsThatFailTogether) {
  Shrunk shrunk = Shrink(Of(100), [](const Plan& plan) {
    return Has(plan, "3") && Has(plan, "50") && Has(plan, "99");
  });
  EXPECT_THAT(NamesIn(shrunk.plan), ElementsAre("3", "50", "99"));
  EXPECT_LT(shrunk.runs, 150);
}

TEST(Shrink, SimplifiesParametersAndLength) {
  auto fails = [](const Plan& plan) {
    return Has(plan, "2") && plan.steps.back().with["for"] >= 5 &&
           plan.steps.back().with["of"] == Json({"b"});
  };
  Plan plan = Of(3);
  plan.steps.back().with["of"] = {"b"};
  Shrunk shrunk = Shrink(plan, fails);
  EXPECT_THAT(NamesIn(shrunk.plan), ElementsAre("2"));
  EXPECT_EQ(shrunk.plan.steps[0].with, Json({{"for", 5}, {"of", {"b"}}}));
  EXPECT_EQ(shrunk.plan.length, 2s);
}

TEST(Shrink, EndsWithItsBudget) {
  int runs = 0;
  Shrunk shrunk = Shrink(Of(100),
                         [&](const Plan& plan) {
                           ++runs;
                           return Has(plan, "3");
                         },
                         {.runs = 4});
  EXPECT_EQ(runs, 4);
  EXPECT_TRUE(Has(shrunk.plan, "3"));
  EXPECT_LT(shrunk.plan.steps.size(), 100u);
}

TEST(SimplerThan, IsAlwaysSimplerInTheEnd) {
  EXPECT_THAT(SimplerThan({"a", "b"}), ElementsAre(Json::array(), Json({"b"}), Json({"a"})));
  EXPECT_THAT(SimplerThan(Json({{"arm64", 3}})), ElementsAre(Json::object()));
  EXPECT_THAT(SimplerThan(40), ElementsAre(Json(1), Json(20)));
  EXPECT_THAT(SimplerThan(true), ElementsAre(Json(false)));
  for (const Json& simplest : {Json(1), Json(false), Json(""), Json::array(), Json::object()})
    EXPECT_THAT(SimplerThan(simplest), IsEmpty()) << simplest;
}

}  // namespace
}  // namespace sim
