// SPDX-License-Identifier: Apache-2.0
#include "api/conditions.h"

#include <gtest/gtest.h>

#include "api/find_condition.h"
#include "api/json_fields.h"

namespace api {
namespace {

using std::chrono::system_clock;
constexpr system_clock::time_point kStart{std::chrono::hours(24 * 365 * 50)};

Condition Available(std::string status, std::string reason = "Ready", int64_t generation = 1) {
  return {.type = std::string(kAvailable),
          .status = std::move(status),
          .reason = std::move(reason),
          .message = "",
          .observed_generation = generation};
}

TEST(ConditionsTest, TransitionTimeMovesWithTheStatusOnly) {
  std::vector<Condition> conditions;
  EXPECT_TRUE(SetCondition(conditions, Available("True"), kStart));
  std::string first = conditions[0].last_transition_time;
  EXPECT_EQ(first, "2019-12-20T00:00:00Z");

  EXPECT_TRUE(SetCondition(conditions, Available("True", "StillReady", 2),
                           kStart + std::chrono::minutes(1)));
  EXPECT_EQ(conditions[0].last_transition_time, first);
  EXPECT_EQ(conditions[0].observed_generation, 2);

  EXPECT_TRUE(SetCondition(conditions, Available("False"), kStart + std::chrono::minutes(2)));
  EXPECT_EQ(conditions[0].last_transition_time, "2019-12-20T00:02:00Z");
  EXPECT_EQ(conditions.size(), 1u);
  EXPECT_FALSE(IsTrue(conditions, kAvailable));
}

TEST(ConditionsTest, ReturnsWhetherAnythingChanged) {
  std::vector<Condition> conditions;
  SetCondition(conditions, Available("True"), kStart);
  EXPECT_FALSE(SetCondition(conditions, Available("True"), kStart + std::chrono::hours(1)));
}

TEST(ConditionsTest, KeepsWithinWhatTheApiAccepts) {
  std::vector<Condition> conditions;
  Condition condition = Available("True", "not a reason");
  for (int i = 0; i < 20000; ++i) condition.message += "é";  // two bytes each
  SetCondition(conditions, condition, kStart);
  EXPECT_EQ(conditions[0].reason, "Unknown");
  EXPECT_EQ(conditions[0].message.size(), 32768u);

  condition.message = "x" + condition.message;  // the limit now falls into a character
  SetCondition(conditions, condition, kStart);
  EXPECT_EQ(conditions[0].message.size(), 32767u);
  EXPECT_NO_FATAL_FAILURE(kube::DumpJson(WriteFields(conditions[0])));
}

struct Status {
  std::vector<Condition> conditions;
  static void Fields(auto& status, auto& field) { field("conditions", status.conditions, Items{}); }
};

TEST(ConditionsTest, RoundTrips) {
  Status status;
  SetCondition(status.conditions, Available("True"), kStart);
  FieldErrors problems;
  auto read = ReadFields<Status>(WriteFields(status), "status", problems);
  EXPECT_EQ(read.conditions, status.conditions);
  EXPECT_EQ(Describe(problems), "");
  kube::Json bad = kube::MustParseJson(R"({"conditions": [1, null, {"status": "True"}]})");
  EXPECT_TRUE(ReadFields<Status>(bad, "status", problems).conditions.empty());
}

}  // namespace
}  // namespace api
