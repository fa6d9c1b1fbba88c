// SPDX-License-Identifier: Apache-2.0
#include "kube/controller/large_pods.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "kube/base/notifier.h"
#include "kube/base/task_group.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_reader.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace kube {
namespace {

using namespace std::chrono_literals;
using core::Pod;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class LargePodsTest : public testing::Test, public Reconciler {
 protected:
  LargePodsTest() {
    large_.Serve(*this);
    large_.OnTurn([this](const ObjectKey& pod) { woken_.push_back(pod.ToString()); });
  }
  ~LargePodsTest() override { EXPECT_THAT(kube::Run(io_, tasks_.Stop(RealClock(), 5s)), IsOk()); }

  // The pods that the reconciler got, with the number of containers; -1: deleted.
  Async<Outcome> Reconcile(Request request) override {
    std::optional<Pod> pod = large_.Get(request.key);
    seen_.push_back(request.key.ToString() + " " +
                    std::to_string(pod ? pod->spec().containers_size() : -1));
    while (slow_) {
      Result<> waited = co_await go_on_.Wait();
      if (!waited) co_return waited.error();
    }
    co_return Outcome::Done();
  }
  // A pod with one container; the cache has a stub without it.
  void CreateLarge(const std::string& ns, const std::string& name) {
    api_.Create<Pod>(MakePod(name).Namespace(ns).Image("r.io/app:1").Gate("gate"));
    cache_.PutStub(MakePod(name).Namespace(ns).Gate("gate"));
  }
  Result<Outcome> Ask(const std::string& ns, const std::string& name) {
    return kube::Run(io_, large_.Reconcile({{ns, name}}));
  }
  asio::awaitable<void> AskSlowly(ObjectKey key) {
    Request request{std::move(key)};
    auto outcome = co_await large_.Reconcile(std::move(request));
    EXPECT_THAT(outcome, IsOk());
  }

  boost::asio::io_context io_;
  FakeApiServer api_;
  FakeReader<Pod> cache_;
  TaskGroup tasks_{io_.get_executor()};
  LargePods large_{api_, cache_, {.per_namespace = 1, .total = 2}};
  bool slow_ = false;
  Notifier go_on_;
  std::vector<std::string> seen_;
  std::vector<std::string> woken_;
};

TEST_F(LargePodsTest, AWholePodIsNotReadLive) {
  cache_.Put(MakePod("web").Image("r.io/app:1"));
  EXPECT_THAT(Ask("ns", "web"), IsOk());
  EXPECT_THAT(seen_, ElementsAre("ns/web 1"));
  EXPECT_EQ(api_.CountCalls("GET"), 0);
}

TEST_F(LargePodsTest, AStubIsReadLiveAndNotCached) {
  CreateLarge("ns", "web");
  EXPECT_FALSE(large_.Complete({"ns", "web"}));
  EXPECT_THAT(Ask("ns", "web"), IsOk());
  EXPECT_THAT(seen_, ElementsAre("ns/web 1"));
  EXPECT_EQ(large_.Get({"ns", "web"})->spec().containers_size(), 0);
  EXPECT_EQ(api_.CountCalls("GET"), 1);
}

TEST_F(LargePodsTest, AStubOfADeletedPodReadsAsAbsent) {
  cache_.PutStub(MakePod("web").Gate("gate"));
  EXPECT_THAT(Ask("ns", "web"), IsOk());
  EXPECT_THAT(seen_, ElementsAre("ns/web -1"));
}

TEST_F(LargePodsTest, AnErrorOfTheApiServerIsReturned) {
  CreateLarge("ns", "web");
  api_.FailNext(Error::Unavailable("503"), "GET");
  EXPECT_THAT(Ask("ns", "web"), FailsWith(Code::kUnavailable));
  EXPECT_THAT(seen_, IsEmpty());
  EXPECT_THAT(Ask("ns", "web"), IsOk());
  EXPECT_THAT(seen_, ElementsAre("ns/web 1"));
}

TEST_F(LargePodsTest, FewAreInMemoryAtATimeAndWorkersDoNotWait) {
  for (const char* name : {"1", "2", "3"}) CreateLarge("greedy", name);
  CreateLarge("modest", "web");
  cache_.Put(MakePod("small").Namespace("greedy"));
  slow_ = true;
  tasks_.Spawn("ask", AskSlowly({"greedy", "1"}));
  Drain(io_);
  EXPECT_EQ(Ask("greedy", "2")->delay(), 2min);
  EXPECT_EQ(Ask("greedy", "3")->delay(), 2min);
  tasks_.Spawn("ask", AskSlowly({"modest", "web"}));
  tasks_.Spawn("ask", AskSlowly({"greedy", "small"}));
  Drain(io_);
  EXPECT_THAT(seen_, UnorderedElementsAre("greedy/1 1", "modest/web 1", "greedy/small 0"));
  slow_ = false;
  go_on_.NotifyAll();
  Drain(io_);
  EXPECT_THAT(woken_, ElementsAre("greedy/2"));
  EXPECT_THAT(Ask("greedy", "2"), IsOk());
  EXPECT_THAT(woken_, ElementsAre("greedy/2", "greedy/3"));
  EXPECT_THAT(Ask("greedy", "3"), IsOk());
  EXPECT_EQ(seen_.back(), "greedy/3 1");
}

}  // namespace
}  // namespace kube
