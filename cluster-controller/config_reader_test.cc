// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/config_reader.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <vector>

#include "kube/testing/run.h"

namespace cluster_controller {
namespace {

namespace asio = boost::asio;

using kube::Async;
using kube::Code;
using kube::Error;
using kube::Result;
using namespace std::chrono_literals;

// Answers each list with as many configs as there were lists before, after a turn of the event loop.
class CountingClient : public kube::Client {
 public:
  Async<kube::ApiResponse> Call(kube::ApiRequest request) override {
    targets_.push_back(request.target);
    auto slept = co_await kube::RealClock().Sleep(1ms);
    if (!slept) co_return slept.error();
    if (fail_) co_return Error::Unavailable("503");
    kube::Json items = kube::Json::array();
    for (size_t i = 1; i < targets_.size(); ++i) {
      items.push_back({{"metadata", {{"name", "c" + std::to_string(i)}, {"namespace", "ns"}}},
                       {"spec", {{"plugins", kube::Json::object()}}}});
    }
    kube::Json list = {{"metadata", {{"resourceVersion", "1"}}}, {"items", items}};
    co_return kube::ApiResponse{200, "application/json", list.dump()};
  }
  Async<std::unique_ptr<kube::WatchStream>> Watch(kube::ApiRequest) override {
    co_return Error::Internal("no watch here");
  }

  std::vector<std::string> targets_;
  bool fail_ = false;
};

class ConfigReaderTest : public testing::Test {
 protected:
  // Asks `count` times at once and returns the answers in order of completion.
  std::vector<Result<Configs>> AskAtOnce(int count, const std::string& ns = "ns") {
    std::vector<Result<Configs>> answers;
    for (int i = 0; i < count; ++i) {
      asio::co_spawn(io_, reader_.Read(ns), [&answers](std::exception_ptr failure, Result<Configs> answer) {
        ASSERT_FALSE(failure);
        answers.push_back(std::move(answer));
      });
    }
    io_.run();
    io_.restart();
    return answers;
  }

  boost::asio::io_context io_;
  CountingClient client_;
  ConfigReader reader_{client_, kube::RealClock(), 1ms};
};

TEST_F(ConfigReaderTest, ABurstSharesOneList) {
  auto answers = AskAtOnce(100);
  ASSERT_EQ(answers.size(), 100u);
  for (auto& answer : answers) EXPECT_TRUE(answer);
  EXPECT_EQ(client_.targets_.size(), 1u);
}

TEST_F(ConfigReaderTest, ALaterQuestionIsNotAnsweredByAnEarlierList) {
  std::vector<size_t> sizes;
  auto note = [&sizes](std::exception_ptr, Result<Configs> answer) { sizes.push_back((*answer)->size()); };
  asio::co_spawn(io_, reader_.Read("ns"), note);
  while (client_.targets_.empty()) io_.run_one();  // the first list is under way
  asio::co_spawn(io_, reader_.Read("ns"), note);
  io_.run();
  EXPECT_EQ(client_.targets_.size(), 2u);
  EXPECT_EQ(sizes, (std::vector<size_t>{0, 1}));
}

TEST_F(ConfigReaderTest, NamespacesDoNotWaitForEachOther) {
  asio::co_spawn(io_, reader_.Read("a"), [](std::exception_ptr, Result<Configs>) {});
  asio::co_spawn(io_, reader_.Read("b"), [](std::exception_ptr, Result<Configs>) {});
  while (client_.targets_.size() < 2) ASSERT_GT(io_.run_one(), 0u);
  io_.run();
  EXPECT_NE(client_.targets_[0], client_.targets_[1]);
}

TEST_F(ConfigReaderTest, AnErrorReachesAllWhoWaitAndIsForgotten) {
  client_.fail_ = true;
  for (auto& answer : AskAtOnce(3)) EXPECT_TRUE(FailedWith(answer, Code::kUnavailable));
  client_.fail_ = false;
  for (auto& answer : AskAtOnce(3)) EXPECT_TRUE(answer);
}

}  // namespace
}  // namespace cluster_controller
