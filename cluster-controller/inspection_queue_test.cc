// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/inspection_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <map>

#include "inspection/config/credentials.h"
#include "kube/base/notifier.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace cluster_controller {
namespace {

using namespace std::chrono_literals;
using inspection::ImageRequest;
using kube::Async;
using kube::Code;
using kube::Error;
using kube::FailsWith;
using kube::IsOk;
using kube::ObjectKey;
using kube::Result;
using placement::ArchitectureSet;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Registries whose answers come when the test says so.
class SlowImages final : public inspection::ImageInspector {
 public:
  Async<ArchitectureSet> Architectures(ImageRequest request) override {
    co_await kube::IgnoreCancellation();
    asked_.push_back(request.image);
    while (!answers_.contains(request.image)) {
      Result<void> waited = co_await changed_.Wait();
      if (!waited) co_return waited.error();
    }
    co_return answers_.at(request.image);
  }
  std::optional<Result<ArchitectureSet>> Remembered(const ImageRequest& request) override {
    if (!remembered_.contains(request.image)) return std::nullopt;
    return ArchitectureSet{"amd64"};
  }
  Result<void> SetConfig(inspection::InspectorConfig) override { return kube::Ok(); }
  inspection::InspectorStats stats() const override { return {}; }

  void AnswerWith(const std::string& image, Result<ArchitectureSet> answer) {
    answers_.insert_or_assign(image, std::move(answer));
    changed_.NotifyAll();
  }

  std::map<std::string, Result<ArchitectureSet>> answers_;
  std::set<std::string> remembered_;
  std::vector<std::string> asked_;
  kube::Notifier changed_;
};

class InspectionQueueTest : public ::testing::Test {
 protected:
  InspectionQueueTest() {
    queue_.OnAnswer([this](const ObjectKey& pod) { woken_.push_back(pod.name); });
  }
  ~InspectionQueueTest() override {
    EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), IsOk());
  }

  std::optional<InspectionQueue::Answer> Ask(const std::string& pod, const std::string& image) {
    return Ask("ns", pod, image);
  }
  std::optional<InspectionQueue::Answer> Ask(const std::string& ns, const std::string& pod,
                                             const std::string& image) {
    auto answer = queue_.Ask({ns, pod}, {.image = image});
    kube::Drain(io_);
    return answer;
  }
  void AnswerWith(const std::string& image, Result<ArchitectureSet> answer) {
    images_.AnswerWith(image, std::move(answer));
    kube::Drain(io_);
  }

  kube::asio::io_context io_;
  kube::FakeClock clock_;
  kube::TaskGroup tasks_{io_.get_executor()};
  SlowImages images_;
  kube::Metrics metrics_;
  ControllerMetrics controller_metrics_{metrics_};
  InspectionQueue queue_{images_,
                         clock_,
                         tasks_,
                         controller_metrics_,
                         {.per_registry = 2, .per_namespace = 8, .at_once = 8}};
  std::vector<std::string> woken_;
};

TEST_F(InspectionQueueTest, APodIsWokenAndThenGivenItsAnswer) {
  EXPECT_FALSE(Ask("web", "r.io/a"));
  EXPECT_THAT(woken_, IsEmpty());
  AnswerWith("r.io/a", ArchitectureSet{"arm64"});
  EXPECT_THAT(woken_, ElementsAre("web"));
  clock_.Advance(1h);
  auto answer = Ask("web", "r.io/a");
  ASSERT_TRUE(answer);
  EXPECT_THAT(**answer, ElementsAre("arm64"));
  queue_.Forget({"ns", "web"});
  EXPECT_FALSE(Ask("web", "r.io/a"));
  EXPECT_EQ(images_.asked_.size(), 2u);
}

TEST_F(InspectionQueueTest, WhatIsRememberedCostsNoTurn) {
  images_.remembered_.insert("r.io/a");
  EXPECT_TRUE(Ask("web", "r.io/a"));
  EXPECT_THAT(images_.asked_, IsEmpty());
}

TEST_F(InspectionQueueTest, PodsThatAskTheSameShareOneInspection) {
  for (const char* pod : {"a", "b", "c"}) EXPECT_FALSE(Ask(pod, "r.io/a"));
  AnswerWith("r.io/a", Error::NotFound("registry r.io: 404"));
  EXPECT_THAT(woken_, ElementsAre("a", "b", "c"));
  for (const char* pod : {"a", "b", "c"})
    EXPECT_THAT(*Ask(pod, "r.io/a"), FailsWith(Code::kNotFound));
  EXPECT_EQ(images_.asked_.size(), 1u);
}

TEST_F(InspectionQueueTest, OtherCredentialsAreAnotherQuestion) {
  inspection::Keyring keyring;
  ASSERT_THAT(keyring.AddSecret("ns/s", inspection::kDockerConfigJsonType,
                                R"({"auths":{"r.io":{"username":"u","password":"p"}}})"),
              IsOk());
  EXPECT_FALSE(Ask("a", "r.io/a"));
  auto shared = std::make_shared<const inspection::Keyring>(keyring);
  EXPECT_FALSE(queue_.Ask({"ns", "b"}, {.image = "r.io/a", .keyring = shared}));
  kube::Drain(io_);
  EXPECT_EQ(images_.asked_.size(), 2u);
}

TEST_F(InspectionQueueTest, ASlowRegistryHoldsUpNoOther) {
  for (int i = 0; i < 10; ++i)
    EXPECT_FALSE(Ask("slow" + std::to_string(i), "slow.io/" + std::to_string(i)));
  EXPECT_EQ(queue_.under_way(), 2u);
  EXPECT_EQ(queue_.waiting(), 8u);
  EXPECT_FALSE(Ask("fast", "fast.io/a"));
  AnswerWith("fast.io/a", ArchitectureSet{"amd64"});
  EXPECT_THAT(woken_, ElementsAre("fast"));
}

// One namespace may have half: as many as are left to others.
TEST_F(InspectionQueueTest, RegistriesTakeTurnsWhereAllIsBusy) {
  for (const char* image : {"a.io/1", "a.io/2", "a.io/3", "b.io/1", "b.io/2", "b.io/3", "c.io/1"}) {
    EXPECT_FALSE(Ask(image, image));
  }
  EXPECT_THAT(images_.asked_, ElementsAre("a.io/1", "a.io/2", "b.io/1", "b.io/2"));
  AnswerWith("a.io/1", ArchitectureSet{"amd64"});
  EXPECT_EQ(images_.asked_.back(), "a.io/3");
  AnswerWith("a.io/2", ArchitectureSet{"amd64"});
  EXPECT_EQ(images_.asked_.back(), "c.io/1");
}

// However many namespaces have nothing but images that are never answered.
TEST_F(InspectionQueueTest, ANamespaceThatComesNewFindsAPlaceAtOnce) {
  InspectionQueue queue(images_, clock_, tasks_, controller_metrics_);
  for (int ns = 0; ns < 8; ++ns) {
    std::string name = "slow" + std::to_string(ns);
    for (int i = 0; i < 100; ++i) {
      EXPECT_FALSE(queue.Ask({name, "pod"}, {.image = name + "-" + std::to_string(i) + ".io/app"}));
    }
    kube::Drain(io_);
    size_t before = queue.under_way();
    EXPECT_LT(before, 128u);
    std::string fast = "fast" + std::to_string(ns) + ".io/app";
    EXPECT_FALSE(queue.Ask({"fast", "pod"}, {.image = fast}));
    kube::Drain(io_);
    EXPECT_EQ(images_.asked_.back(), fast) << "with " << before << " of others under way";
    AnswerWith(fast, ArchitectureSet{"amd64"});
    EXPECT_TRUE(queue.Ask({"fast", "pod"}, {.image = fast}));
    queue.Forget({"fast", "pod"});
  }
  for (int i = 0; i < 8; ++i) queue.Forget({"slow" + std::to_string(i), "pod"});
  EXPECT_EQ(queue.waiting(), 0u);
  EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), IsOk());
}

// All is taken by those that came first: what becomes free goes to who has nothing.
TEST_F(InspectionQueueTest, NamespacesTakeTurnsBeforeRegistriesDo) {
  for (int ns = 0; ns < 4; ++ns) {
    std::string name = "slow" + std::to_string(ns);
    for (int i = 0; i < 9; ++i)
      EXPECT_FALSE(Ask(name, "pod", name + "." + std::to_string(i) + ".io/app"));
  }
  ASSERT_EQ(queue_.under_way(), 8u);
  for (const char* ns : {"b", "c"}) {
    for (int i = 0; i < 3; ++i)
      EXPECT_FALSE(Ask(ns, "pod", std::string(ns) + ".io/" + std::to_string(i)));
  }
  size_t asked = images_.asked_.size();
  for (size_t i = 0; i < 3; ++i) AnswerWith(images_.asked_[i], ArchitectureSet{"amd64"});
  std::vector<std::string> next(images_.asked_.begin() + static_cast<ptrdiff_t>(asked),
                                images_.asked_.end());
  EXPECT_THAT(next, ::testing::IsSupersetOf({"b.io/0", "c.io/0"}));
}

TEST_F(InspectionQueueTest, NoNamespaceHasMoreThanItsMaximum) {
  InspectionQueue queue(images_, clock_, tasks_, controller_metrics_,
                        {.per_namespace = 2, .at_once = 100});
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(
        queue.Ask({"ns", std::to_string(i)}, {.image = "r" + std::to_string(i) + ".io/app"}));
  }
  EXPECT_EQ(queue.under_way(), 2u);
  for (int i = 0; i < 10; ++i)
    AnswerWith("r" + std::to_string(i) + ".io/app", ArchitectureSet{"amd64"});
  EXPECT_EQ(queue.under_way() + queue.waiting(), 0u);
}

// An image for which several ask is inspected with the first turn of any of them, and is in the
// line of none that left.
TEST_F(InspectionQueueTest, ASharedImageIsInTheLineOfAllWhoAsk) {
  for (int i = 0; i < 10; ++i)
    EXPECT_FALSE(Ask("slow", "pod", "registry" + std::to_string(i) + ".slow.io/app"));
  EXPECT_FALSE(Ask("slow", "pod", "shared.io/app"));
  EXPECT_FALSE(Ask("fast", "pod", "shared.io/app"));
  EXPECT_EQ(images_.asked_.back(), "shared.io/app");
  AnswerWith("shared.io/app", ArchitectureSet{"amd64"});
  EXPECT_THAT(woken_, ElementsAre("pod", "pod"));

  EXPECT_FALSE(Ask("slow", "one", "registry10.slow.io/app"));
  EXPECT_FALSE(Ask("slow", "two", "registry10.slow.io/app"));
  size_t waiting = queue_.waiting();
  queue_.Forget({"slow", "one"});
  EXPECT_EQ(queue_.waiting(), waiting);
  queue_.Forget({"slow", "two"});
  EXPECT_EQ(queue_.waiting(), waiting - 1);
  queue_.Forget({"slow", "pod"});
  EXPECT_EQ(queue_.waiting(), 0u);
}

TEST_F(InspectionQueueTest, WhatNobodyWaitsForAnyMoreIsNotInspected) {
  for (const char* image : {"r.io/1", "r.io/2", "r.io/3", "r.io/4"})
    EXPECT_FALSE(Ask(image, image));
  queue_.Forget({"ns", "r.io/3"});
  AnswerWith("r.io/1", ArchitectureSet{"amd64"});
  EXPECT_THAT(images_.asked_, ElementsAre("r.io/1", "r.io/2", "r.io/4"));
}

// What the inspector has in its cache by then is answered before the inspection has really begun.
TEST_F(InspectionQueueTest, AnswersThatComeAtOnceDoNotPileUp) {
  constexpr int kMany = 50'000;
  EXPECT_FALSE(Ask("first", "r.io/first"));
  EXPECT_FALSE(Ask("last", "r.io/last"));
  for (int i = 0; i < kMany; ++i) {
    std::string name = std::to_string(i);
    images_.answers_.emplace("r.io/" + name, ArchitectureSet{"amd64"});
    EXPECT_FALSE(queue_.Ask({"ns", name}, {.image = "r.io/" + name}));
  }
  EXPECT_EQ(queue_.waiting(), static_cast<size_t>(kMany));
  AnswerWith("r.io/first", ArchitectureSet{"amd64"});
  EXPECT_EQ(woken_.size(), static_cast<size_t>(kMany + 1));
  EXPECT_EQ(queue_.waiting(), 0u);
}

TEST_F(InspectionQueueTest, ALineMayEndWithAnAnswerThatComesAtOnce) {
  for (const char* image : {"a.io/1", "a.io/2", "c.io/1", "c.io/2"})
    EXPECT_FALSE(Ask(image, image));
  ASSERT_EQ(queue_.under_way(), 4u);
  images_.answers_.emplace("b.io/1", ArchitectureSet{"amd64"});
  EXPECT_FALSE(Ask("b", "b.io/1"));
  AnswerWith("a.io/1", ArchitectureSet{"amd64"});
  EXPECT_THAT(woken_, ElementsAre("a.io/1", "b"));
  EXPECT_EQ(queue_.under_way(), 3u);
}

TEST_F(InspectionQueueTest, APrefetchWakesNobodyAndLeavesNothingBehind) {
  queue_.Prefetch("ns", {.image = "r.io/a"});
  kube::Drain(io_);
  EXPECT_THAT(images_.asked_, ElementsAre("r.io/a"));
  AnswerWith("r.io/a", ArchitectureSet{"amd64"});
  EXPECT_THAT(woken_, IsEmpty());
  EXPECT_EQ(queue_.under_way() + queue_.waiting(), 0u);
}

}  // namespace
}  // namespace cluster_controller
