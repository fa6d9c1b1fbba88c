// SPDX-License-Identifier: Apache-2.0
#include "operator/probes/probe_turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace operator_ {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using namespace std::chrono_literals;

constexpr auto kArrived = ProbeResult::kArrived;
constexpr auto kNotArrived = ProbeResult::kNotArrived;
constexpr auto kUnknown = ProbeResult::kUnknown;

class ProbeTurnsTest : public testing::Test {
 protected:
  // Probes as the turns come, for `time`; those of `lost` do not arrive. Returns: the number of
  // probes of each scope.
  std::map<std::string, int> Probe(kube::Duration time, const std::set<std::string>& lost = {}) {
    std::map<std::string, int> probes;
    for (const kube::TimePoint end = now_ + time; now_ < end; now_ += 500ms) {
      std::optional<std::string> scope = turns_.Take(now_);
      if (!scope) continue;
      ++probes[*scope];
      turns_.Record(*scope, lost.contains(*scope) ? kNotArrived : kArrived, now_);
    }
    return probes;
  }
  // Takes the next probe, whenever it is due.
  std::string Take() {
    now_ = std::max(now_, turns_.Next().value());
    return turns_.Take(now_).value_or("none is due");
  }
  bool Record(const std::string& scope, ProbeResult result) {
    return turns_.Record(scope, result, now_);
  }

  ProbeTurns turns_;
  kube::TimePoint now_{1h};
};

TEST_F(ProbeTurnsTest, NothingIsDueWithoutWebhooks) {
  EXPECT_EQ(turns_.Next(), std::nullopt);
  EXPECT_EQ(turns_.Take(now_), std::nullopt);
  EXPECT_EQ(turns_.Of("shop"), Reach::kUnknown);
}

TEST_F(ProbeTurnsTest, AWebhookIsProbedWhenItHasSettledAndThenOnceAMinute) {
  EXPECT_TRUE(turns_.Follow("shop", now_));
  EXPECT_EQ(turns_.Next(), now_ + 10s);
  EXPECT_FALSE(turns_.Follow("shop", now_ + 9s)) << "each reconcile follows it again";
  EXPECT_EQ(turns_.Next(), now_ + 10s);
  EXPECT_THAT(Probe(9s), IsEmpty());
  EXPECT_EQ(Probe(10min)["shop"], 10);
  EXPECT_EQ(turns_.Of("shop"), Reach::kReached);
}

TEST_F(ProbeTurnsTest, TwoFailuresAreRetriedAndTheThirdIsReported) {
  turns_.Follow("shop", now_);
  EXPECT_EQ(Take(), "shop");
  EXPECT_FALSE(Record("shop", kNotArrived));
  for (bool reported : {false, true}) {
    kube::TimePoint before = now_;
    EXPECT_EQ(Take(), "shop");
    EXPECT_EQ(now_ - before, 5s);
    EXPECT_EQ(Record("shop", kNotArrived), reported);
    EXPECT_EQ(turns_.Of("shop") == Reach::kUnreachable, reported);
  }
  EXPECT_THAT(turns_.Unreachable(), ElementsAre("shop"));

  // It is still probed, and the first success ends it.
  kube::TimePoint before = now_;
  EXPECT_EQ(Take(), "shop");
  EXPECT_EQ(now_ - before, 60s);
  EXPECT_FALSE(Record("shop", kNotArrived));
  EXPECT_EQ(Take(), "shop");
  EXPECT_TRUE(Record("shop", kArrived));
  EXPECT_EQ(turns_.Of("shop"), Reach::kReached);
  EXPECT_THAT(turns_.Unreachable(), IsEmpty());
}

TEST_F(ProbeTurnsTest, FailuresMustFollowEachOther) {
  turns_.Follow("shop", now_);
  for (ProbeResult result :
       {kNotArrived, kNotArrived, kArrived, kNotArrived, kNotArrived, kArrived}) {
    EXPECT_EQ(Take(), "shop");
    Record("shop", result);
    EXPECT_NE(turns_.Of("shop"), Reach::kUnreachable);
  }
}

// A quota, a missing right, an API server that is away.
TEST_F(ProbeTurnsTest, ARefusedProbeSaysNothing) {
  turns_.Follow("shop", now_);
  for (int i = 0; i < 10; ++i) {
    kube::TimePoint before = now_;
    EXPECT_EQ(Take(), "shop");
    EXPECT_EQ(now_ - before, i == 0 ? 10s : 60s);
    EXPECT_FALSE(Record("shop", kUnknown));
  }
  EXPECT_EQ(turns_.Of("shop"), Reach::kUnknown);

  for (ProbeResult result : {kNotArrived, kNotArrived, kUnknown, kNotArrived}) {
    Take();
    Record("shop", result);
  }
  EXPECT_EQ(turns_.Of("shop"), Reach::kUnreachable);
  Take();
  EXPECT_FALSE(Record("shop", kUnknown));
  EXPECT_EQ(turns_.Of("shop"), Reach::kUnreachable);
}

TEST_F(ProbeTurnsTest, AWebhookThatIsRolledOutAgainIsNotProbed) {
  turns_.Follow("shop", now_);
  Take();
  Record("shop", kNotArrived);
  Take();
  Record("shop", kNotArrived);
  // Its pods ended while the third probe was on its way.
  Take();
  turns_.Pause("shop");
  EXPECT_FALSE(Record("shop", kNotArrived));
  EXPECT_EQ(turns_.Next(), std::nullopt);
  EXPECT_THAT(Probe(10min), IsEmpty());

  EXPECT_TRUE(turns_.Follow("shop", now_));
  EXPECT_EQ(turns_.Next(), now_ + 10s);
  Take();
  EXPECT_FALSE(Record("shop", kNotArrived)) << "the failures before do not count";
}

TEST_F(ProbeTurnsTest, WhatIsKnownStaysDuringARollout) {
  turns_.Follow("shop", now_);
  Probe(2min, {"shop"});
  turns_.Pause("shop");
  EXPECT_EQ(turns_.Of("shop"), Reach::kUnreachable);
  turns_.Follow("shop", now_);
  EXPECT_EQ(turns_.Of("shop"), Reach::kUnreachable);
  Probe(11s);
  EXPECT_EQ(turns_.Of("shop"), Reach::kReached);
}

TEST_F(ProbeTurnsTest, AForgottenScopeIsNew) {
  turns_.Follow("shop", now_);
  Probe(2min, {"shop"});
  Take();
  turns_.Forget("shop");
  EXPECT_FALSE(Record("shop", kArrived));
  EXPECT_EQ(turns_.Of("shop"), Reach::kUnknown);
  EXPECT_EQ(turns_.Next(), std::nullopt);
  turns_.Pause("shop");
  EXPECT_EQ(turns_.Next(), std::nullopt);
}

// The cost does not grow with the number of shards, and the cluster's webhook does not wait.
TEST_F(ProbeTurnsTest, AThousandShardsAreProbedInTurn) {
  turns_.Follow("", now_);
  for (int i = 0; i < 1000; ++i) turns_.Follow("ns" + std::to_string(i), now_);
  Probe(10s);
  std::map<std::string, int> probes = Probe(35min);
  int all = 0;
  for (const auto& [scope, count] : probes) all += count;
  EXPECT_EQ(all, 35 * 30);
  EXPECT_EQ(probes[""], 35);
  EXPECT_EQ(probes.size(), 1001u) << "each shard had its turn";
  for (const auto& [scope, count] : probes) EXPECT_LE(count, 35) << scope;
}

TEST_F(ProbeTurnsTest, RetriesTakeAtMostHalfOfTheTurns) {
  turns_.Follow("", now_);
  std::set<std::string> lost;
  for (int i = 0; i < 1000; ++i) {
    std::string ns = "ns" + std::to_string(i);
    turns_.Follow(ns, now_);
    // A third of them.
    if (i % 3 == 0) lost.insert(ns);
  }
  std::map<std::string, int> probes = Probe(5min, lost);
  int all = 0;
  int retries = 0;
  for (const auto& [scope, count] : probes) {
    all += count;
    if (lost.contains(scope)) retries += count - 1;
  }
  EXPECT_GT(retries, 20);
  EXPECT_LT(retries, all / 2);
  // Those that were tried first are confirmed, although hundreds wait for their first turn.
  EXPECT_GE(turns_.Unreachable().size(), 10u);
  for (const std::string& scope : turns_.Unreachable()) EXPECT_TRUE(lost.contains(scope)) << scope;
  EXPECT_EQ(turns_.Of(""), Reach::kReached);
}

}  // namespace
}  // namespace operator_
