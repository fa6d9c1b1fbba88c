// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/plan_file.h"

#include <gtest/gtest.h>

#include "kube/testing/matchers.h"
#include "sim/driver/make_plan.h"

namespace sim {
namespace {

using kube::Code;
using kube::FailsWith;
using testing::HasSubstr;

std::string PlanWith(const std::string& steps) {
  return R"({"seed": 1, "operators": 2, "seconds": 60, "steps": [)" + steps + "]}";
}

TEST(PlanFile, IsReadAsItWasWritten) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const Plan plan = MakePlan(seed);
    EXPECT_GT(plan.steps.size(), 10u);
    kube::Result<Plan> read = ParsePlan(FormatPlan(plan));
    ASSERT_THAT(read, kube::IsOk()) << seed;
    EXPECT_EQ(*read, plan) << seed;
  }
}

TEST(PlanFile, ErrorsNameStepAndMember) {
  const std::string deletes = R"({"at": 1, "do": "DeletePod", "ns": "shop", "name": "a"})";
  EXPECT_THAT(ParsePlan(PlanWith(deletes)), kube::IsOk());
  const std::pair<std::string, std::string> wrong[] = {
      {"{", "plan: "},
      {"[]", "plan: is not an object"},
      {R"({"operators": 2, "seconds": 60, "steps": []})", "has no member seed"},
      {R"({"seed": 1, "operators": 9, "seconds": 60, "steps": []})", "operators: is not 1, 2 or 3"},
      {R"({"seed": 1, "operators": 1, "seconds": -1, "steps": []})", "seconds: is not a number"},
      {R"({"seed": 1, "operators": 1, "seconds": 1, "steps": [], "x": 1})", "unknown member x"},
      {PlanWith("1"), "step 0: is not an object"},
      {PlanWith(deletes + R"(, {"do": "Compact"})"), "step 1: has no member at"},
      {PlanWith(R"({"at": 1, "do": "Explode"})"), "step 0: unknown operation Explode"},
      {PlanWith(R"({"at": 1, "do": "DeletePod", "ns": "shop"})"), "DeletePod: has no member name"},
      {PlanWith(R"({"at": 1, "do": "DeletePod", "ns": "moon", "name": "a"})"),
       "ns: is not text of bank, lab, shop"},
      {PlanWith(R"({"at": 1, "do": "Compact", "now": true})"), "Compact: unknown member now"},
      {PlanWith(R"({"at": 99, "do": "Compact"})"), "step 0: is after the end"},
      {PlanWith(R"({"at": 2, "do": "Compact"}, {"at": 1, "do": "Compact"})"),
       "step 1: is before the one that precedes it"}};
  for (const auto& [text, error] : wrong)
    EXPECT_THAT(ParsePlan(text), FailsWith(Code::kInvalid, HasSubstr(error))) << text;
}

}  // namespace
}  // namespace sim
