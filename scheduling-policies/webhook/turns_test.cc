// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/webhook/turns.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <vector>

#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace policy {
namespace {

class TurnsTest : public testing::Test {
 protected:
  // A request whose turn does one unit of work.
  void Send(const std::string& ns) {
    boost::asio::co_spawn(io_, Take(ns), [this](std::exception_ptr, kube::Result<> taken) {
      refused_ += IsThrottled(taken) ? 1 : 0;
    });
  }
  static bool IsThrottled(const kube::Result<>& result) {
    return !result && result.error().code() == kube::Code::kThrottled;
  }
  kube::Async<> Take(std::string ns) {
    kube::Result<Turns::Turn> turn = co_await turns_.Wait(ns);
    if (!turn) co_return turn.error();
    done_.push_back(ns);
    co_return kube::Ok();
  }

  boost::asio::io_context io_;
  Turns turns_{20};
  std::vector<std::string> done_;
  int refused_ = 0;
};

TEST_F(TurnsTest, NamespacesTakeTurns) {
  for (int i = 0; i < 3; ++i) Send("a");
  for (const char* ns : {"b", "c", "b"}) Send(ns);
  kube::Drain(io_);
  EXPECT_EQ(done_, (std::vector<std::string>{"a", "a", "b", "c", "a", "b"}));
}

TEST_F(TurnsTest, ANamespaceLeavesRoomForOthers) {
  for (int i = 0; i < 50; ++i) Send("hog");
  for (int i = 0; i < 5; ++i) Send("other");
  kube::Drain(io_);
  EXPECT_EQ(refused_, 40);
  EXPECT_EQ(done_.size(), 15u);
  // The places are free again.
  Send("hog");
  kube::Drain(io_);
  EXPECT_EQ(done_.size(), 16u);
}

}  // namespace
}  // namespace policy
