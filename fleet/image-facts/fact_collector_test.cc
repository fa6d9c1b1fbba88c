// SPDX-License-Identifier: Apache-2.0
#include "fleet/image-facts/fact_collector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "image-facts/testing/make_facts.h"
#include "kube/base/task_group.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace fleet {
namespace {

using namespace std::chrono_literals;
using image_facts::DigestOf;
using image_facts::ImageFact;
using image_facts::ImageFacts;
using image_facts::OnLinux;
using image_facts::StoreFacts;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class FactCollectorTest : public testing::Test {
 protected:
  void SetUp() override { Start(); }
  void TearDown() override { Stop(); }

  void Start() {
    collector_ = std::make_unique<FactCollector>(
        api_, clock_, events_,
        FactCollectorOptions{.hub_namespace = "hub", .is_trusted = [this](const std::string& name) {
                               return trusted_.contains(name);
                             }});
    tasks_ = std::make_unique<kube::TaskGroup>(io_.get_executor());
    tasks_->Spawn("events", events_.Run());
    collector_->Start(*tasks_);
    kube::Drain(io_);
  }
  void Stop() {
    ASSERT_THAT(kube::Run(io_, tasks_->Stop(kube::RealClock(), 5s)), kube::IsOk());
    collector_.reset();
  }
  void After(std::chrono::seconds time) {
    for (std::chrono::seconds i{0}; i < time; ++i) {
      clock_.Advance(1s);
      kube::Drain(io_);
    }
  }

  ImageFact Fact(const std::string& image, char digest = 'a',
                 const placement::ArchitectureSet& runs_on = {"amd64"}) {
    return {image, DigestOf(digest), OnLinux(runs_on), image_facts::SecondsNow(clock_)};
  }
  void Publish(const std::string& cluster, std::vector<ImageFact> facts,
               const std::string& name = "image-facts-0") {
    StoreFacts(api_, cluster, name, std::move(facts), "any");
    kube::Drain(io_);
  }
  // The names in all shared objects that the head names.
  std::set<std::string> Shared() {
    std::set<std::string> images;
    auto head = api_.Get<ImageFacts>({"hub", std::string(kSharedHead)});
    if (!head) return images;
    for (const auto& [name, version] : SharedVersionsFromText(head->configuration)) {
      auto object = api_.Get<ImageFacts>({"hub", name});
      EXPECT_TRUE(object) << name;
      if (!object) continue;
      EXPECT_EQ(object->metadata().resource_version(), version);
      for (const ImageFact& fact : object->facts) images.insert(fact.image);
    }
    return images;
  }

  boost::asio::io_context io_{1};
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  kube::EventRecorder events_{api_, clock_, {.component = "hub"}};
  std::set<std::string> trusted_{"one", "two"};
  std::unique_ptr<FactCollector> collector_;
  std::unique_ptr<kube::TaskGroup> tasks_;
};

TEST_F(FactCollectorTest, WhatTrustedMembersPublishIsShared) {
  Publish("one", {Fact("r.io/one:1", 'a')});
  Publish("two", {Fact("r.io/two:1", 'b')});
  Publish("stranger", {Fact("r.io/stranger:1", 'c')});
  Publish("one", {Fact("r.io/more:1", 'd')}, "image-facts-4");
  After(61s);
  EXPECT_THAT(Shared(), UnorderedElementsAre("r.io/one:1", "r.io/two:1"));
  // Of all members' facts, one object.
  EXPECT_EQ(api_.CountCalls("POST"), 2);

  trusted_ = {"two", "stranger"};
  After(61s);
  EXPECT_THAT(Shared(), UnorderedElementsAre("r.io/two:1", "r.io/stranger:1"));
}

TEST_F(FactCollectorTest, AtRestNothingIsReadOrWritten) {
  Publish("one", {Fact("r.io/one@" + DigestOf('a'), 'a')});
  After(61s);
  const size_t calls = api_.calls().size();
  After(20min);
  EXPECT_EQ(api_.calls().size(), calls);
}

TEST_F(FactCollectorTest, ADisputeIsAnEventAboutTheLaterMember) {
  Publish("one", {Fact("r.io/app:1", 'a', {"amd64"}), Fact("r.io/other:1", 'b')});
  After(61s);
  Publish("two", {Fact("r.io/app:1", 'a', {"arm64"})});
  After(61s);
  EXPECT_THAT(Shared(), ElementsAre("r.io/other:1"));
  const std::string event = api_.LastBody("/events");
  EXPECT_THAT(event, HasSubstr("ImageFactsDisputed"));
  EXPECT_THAT(event, HasSubstr("than the cluster one has said"));
}

TEST_F(FactCollectorTest, ANewLeaderSharesNothingBeforeItHasReadAll) {
  Publish("one", {Fact("r.io/one:1", 'a')});
  Publish("two", {Fact("r.io/two:1", 'b')});
  After(61s);
  Stop();
  const int writes = api_.CountWrites();
  api_.FailNext(kube::Error::Unavailable("down"), "/namespaces/two/imagefacts/image-facts-0", 3);
  Start();
  EXPECT_EQ(api_.CountWrites(), writes);
  After(90s);
  EXPECT_THAT(Shared(), UnorderedElementsAre("r.io/one:1", "r.io/two:1"));
}

TEST_F(FactCollectorTest, AnObjectThatCannotBeReadKeepsNobodyWaiting) {
  api_.FailNext(kube::Error::Invalid("too large"), "/namespaces/one/imagefacts/image-facts-0", 99);
  Publish("one", {Fact("r.io/one:1", 'a')});
  Publish("two", {Fact("r.io/two:1", 'b')});
  After(61s);
  EXPECT_THAT(Shared(), ElementsAre("r.io/two:1"));
  EXPECT_EQ(api_.CountCalls("GET /apis/multiarch.openshift.io/v1alpha1/namespaces/one/"), 1);
}

TEST_F(FactCollectorTest, WhatSomebodyElseWritesIsReplaced) {
  Publish("one", {Fact("r.io/one:1", 'a')});
  After(61s);
  StoreFacts(api_, "hub", "shared-image-facts-0", {Fact("r.io/foreign:1")}, "x");
  Publish("one", {Fact("r.io/one:1", 'a'), Fact("r.io/new:1", 'b')});
  After(121s);
  EXPECT_THAT(Shared(), UnorderedElementsAre("r.io/one:1", "r.io/new:1"));
}

}  // namespace
}  // namespace fleet
