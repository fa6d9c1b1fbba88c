// SPDX-License-Identifier: Apache-2.0
#include "fleet/cel/answering.h"

#include <gtest/gtest.h>

namespace fleet::cel {
namespace {

using Turn = std::optional<Answering::Turn>;
using namespace std::chrono_literals;

constexpr kube::TimePoint kStart{};

TEST(AnsweringTest, ANamespaceHasOneTurn) {
  Answering answering(4);
  EXPECT_FALSE(answering.Busy("a", kStart));
  Turn turn = answering.Begin("a", kStart);
  ASSERT_TRUE(turn);
  EXPECT_FALSE(answering.Begin("a", kStart));
  EXPECT_TRUE(answering.Busy("a", kStart + 1h));
  EXPECT_FALSE(answering.Busy("b", kStart));
  EXPECT_TRUE(answering.Begin("b", kStart));
  turn.reset();
  EXPECT_FALSE(answering.Busy("a", kStart));
  EXPECT_TRUE(answering.Begin("a", kStart));
}

TEST(AnsweringTest, NamespacesHaveTurnsInTheirOrder) {
  Answering answering(2);
  Turn a = answering.Begin("a", kStart);
  Turn b = answering.Begin("b", kStart);
  EXPECT_FALSE(answering.Begin("c", kStart));
  EXPECT_FALSE(answering.Begin("d", kStart));
  EXPECT_TRUE(answering.Busy("c", kStart + 199ms));
  EXPECT_FALSE(answering.Busy("c", kStart + Answering::kRetry));

  a.reset();
  EXPECT_FALSE(answering.Begin("a", kStart + 1s)) << "c was before";
  EXPECT_FALSE(answering.Begin("d", kStart + 1s)) << "c was before";
  Turn c = answering.Begin("c", kStart + 1s);
  EXPECT_TRUE(c);
  b.reset();
  EXPECT_FALSE(answering.Begin("a", kStart + 1s)) << "d was before";
  Turn d = answering.Begin("d", kStart + 1s);
  EXPECT_TRUE(d);
  c.reset();
  EXPECT_TRUE(answering.Begin("a", kStart + 1s));
}

TEST(AnsweringTest, ANamespaceThatDoesNotAskAgainIsForgotten) {
  Answering answering(1);
  Turn a = answering.Begin("a", kStart);
  EXPECT_FALSE(answering.Begin("gone", kStart));
  EXPECT_FALSE(answering.Begin("b", kStart + 1s));
  a.reset();
  EXPECT_FALSE(answering.Begin("b", kStart + 1999ms));
  EXPECT_TRUE(answering.Begin("b", kStart + Answering::kForget));
}

TEST(AnsweringTest, ALongTurnEndsForAnotherNamespace) {
  Answering answering(1);
  Turn a = answering.Begin("a", kStart);
  EXPECT_FALSE(answering.Over(kStart, kStart + 1h)) << "nothing waits";
  EXPECT_FALSE(answering.Begin("b", kStart));
  EXPECT_FALSE(answering.Over(kStart, kStart + 999ms));
  EXPECT_TRUE(answering.Over(kStart, kStart + Answering::kMaxTurn));
  EXPECT_FALSE(answering.Over(kStart, kStart + Answering::kForget)) << "it did not ask again";
}

TEST(AnsweringTest, ATurnMayOutliveIt) {
  std::optional<Answering> answering(0);
  Turn turn = answering->Begin("a", kStart);
  EXPECT_TRUE(turn) << "there is always one";
  answering.reset();
}

}  // namespace
}  // namespace fleet::cel
