// SPDX-License-Identifier: Apache-2.0
#include "image-facts/controller/fact_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/known_images.h"
#include "api/names.h"
#include "cluster-controller/findings/image_findings.h"
#include "inspection/testing/fake_inspector.h"
#include "kube/base/task_group.h"
#include "kube/metrics/metrics.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace image_facts {
namespace {

using namespace std::chrono_literals;
using inspection::Holders;
using placement::ImagePlatforms;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kNs[] = "operator-ns";
const std::string kDigest = "sha256:" + std::string(64, 'a');

inspection::SharedPodIdentity PodOf(const std::string& ns) {
  return std::make_shared<const inspection::PodIdentity>(
      inspection::PodIdentity{.ns = ns,
                              .pod = "web",
                              .uid = "uid",
                              .account = "default",
                              .pull_secrets = {"key", "other"}});
}

class FactKeeperTest : public testing::Test {
 protected:
  ~FactKeeperTest() override { Stop(); }

  void Start() {
    auto ask_again = [this](cluster_controller::PodInspector::Images images) -> kube::Async<> {
      asked_.push_back(std::move(images));
      co_return kube::Ok();
    };
    keeper_ =
        std::make_unique<FactKeeper>(kNs, api_, clock_, images_, findings_, ask_again, metrics_);
    tasks_ = std::make_unique<kube::TaskGroup>(io_.get_executor());
    keeper_->Start(*tasks_);
    Follow("config-uid");
  }
  // "": there is no ClusterPodPlacementConfig.
  void Follow(const std::string& uid, bool places = false) {
    api::ClusterPodPlacementConfig config;
    config.mutable_metadata()->set_name(std::string(api::kClusterConfigName));
    config.mutable_metadata()->set_uid(uid);
    if (places) config.spec.known_images = api::kPlaceKnownImages;
    keeper_->Follow(uid.empty() ? nullptr : &config);
    kube::Drain(io_);
  }
  void Stop() {
    if (tasks_ == nullptr) return;
    EXPECT_THAT(kube::Run(io_, tasks_->Stop(kube::RealClock(), 5s)), kube::IsOk());
    tasks_.reset();
    keeper_.reset();
  }
  void Advance(kube::Duration time) {
    clock_.Advance(time);
    kube::Drain(io_);
  }
  inspection::Learned Image(std::string name, Holders holders = Holders::kEveryPod) {
    auto platforms = std::make_shared<const ImagePlatforms>(ImagePlatforms{{{"linux", "arm64"}}});
    return {.answer = {std::move(name), kDigest, std::move(platforms)},
            .holders = holders,
            .read = clock_.Now(),
            .pod = PodOf("team")};
  }
  void Learn(inspection::Learned image) {
    images_.Learn(std::move(image));
    kube::Drain(io_);
  }

  // The images in all objects.
  std::multiset<std::string> Stored() {
    std::multiset<std::string> images;
    for (const ImageFacts& object : api_.List<ImageFacts>()) {
      EXPECT_EQ(object.metadata().namespace_(), kNs);
      for (const ImageFact& fact : object.facts) images.insert(fact.image);
    }
    return images;
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  inspection::FakeInspector images_;
  cluster_controller::ImageFindings findings_;
  std::vector<cluster_controller::PodInspector::Images> asked_;
  kube::Metrics all_metrics_;
  FactMetrics metrics_{all_metrics_};
  std::unique_ptr<FactKeeper> keeper_;
  std::unique_ptr<kube::TaskGroup> tasks_;
};

TEST_F(FactKeeperTest, WritesAtMostOnceASecond) {
  Start();
  Advance(kWriteInterval);
  EXPECT_EQ(api_.CountWrites(), 0);
  // The first one at once, the others together.
  for (const char* image : {"a:1", "b:1", "c:1"}) Learn(Image(image));
  EXPECT_EQ(api_.CountWrites(), 1);
  Advance(kWriteInterval);
  EXPECT_EQ(api_.CountWrites(), 2);
  EXPECT_THAT(Stored(), ElementsAre("a:1", "b:1", "c:1"));

  Learn(Image("d:1"));
  Advance(kWriteInterval - 1ms);
  EXPECT_EQ(api_.CountWrites(), 2);
  Advance(1ms);
  EXPECT_EQ(api_.CountWrites(), 3);
  EXPECT_THAT(Stored(), ElementsAre("a:1", "b:1", "c:1", "d:1"));
  Advance(kWriteInterval);
  EXPECT_EQ(metrics_.facts.Value(), 4);
  EXPECT_GT(metrics_.bytes.Value(), 4 * 70);
}

TEST_F(FactKeeperTest, TheConfigurationOwnsTheObjects) {
  Start();
  Follow("");
  Learn(Image("a:1"));
  for (int i = 0; i < 3; ++i) Advance(kWriteInterval);
  EXPECT_THAT(Stored(), IsEmpty());
  Follow("other-uid");
  for (int i = 0; i < 3; ++i) Advance(kWriteInterval);
  const std::vector<ImageFacts> objects = api_.List<ImageFacts>();
  ASSERT_THAT(objects, SizeIs(1));
  const auto& owners = objects[0].metadata().owner_references();
  ASSERT_EQ(owners.size(), 1);
  EXPECT_EQ(owners[0].kind(), "ClusterPodPlacementConfig");
  EXPECT_EQ(owners[0].name(), "cluster");
  EXPECT_EQ(owners[0].uid(), "other-uid");
}

TEST_F(FactKeeperTest, AtRestNothingIsRead) {
  Start();
  Learn(Image("a:1"));
  Advance(kWriteInterval);
  Advance(kWriteInterval);
  const size_t calls = api_.calls().size();
  for (int i = 0; i < 60; ++i) Advance(1min);
  EXPECT_EQ(api_.calls().size(), calls);
}

TEST_F(FactKeeperTest, TheNextLeaderRestoresWhatIsStored) {
  Start();
  Learn(Image("a:1"));
  Advance(kWriteInterval);
  Advance(kWriteInterval);
  Stop();
  const int writes = api_.CountWrites();

  clock_.Advance(10min);
  Start();
  ASSERT_THAT(images_.restored(), SizeIs(1));
  EXPECT_EQ(images_.restored()[0].first.image, "a:1");
  EXPECT_EQ(images_.restored()[0].first.digest, kDigest);
  EXPECT_GE(images_.restored()[0].second, 10min);
  EXPECT_LE(images_.restored()[0].second, 11min);

  // It goes on with the same object.
  Learn(Image("b:1"));
  Advance(kWriteInterval);
  Advance(kWriteInterval);
  EXPECT_THAT(Stored(), ElementsAre("a:1", "b:1"));
  EXPECT_EQ(api_.CountWrites(), writes + 1);
  EXPECT_THAT(api_.List<ImageFacts>(), SizeIs(1));
}

TEST_F(FactKeeperTest, TheNewestFactsAreRestoredLast) {
  Start();
  for (const char* image : {"c:1", "a:1", "b:1"}) {
    Learn(Image(image));
    Advance(kWriteInterval);
  }
  Advance(kWriteInterval);
  Stop();
  Start();
  std::vector<std::string> restored;
  for (const auto& [image, age] : images_.restored()) restored.push_back(image.image);
  EXPECT_THAT(restored, ElementsAre("c:1", "a:1", "b:1"));
}

TEST_F(FactKeeperTest, FactsOfAnotherConfigurationAreNotRestoredButRemoved) {
  Start();
  Learn(Image("a:1"));
  Advance(kWriteInterval);
  Advance(kWriteInterval);
  Stop();

  images_.ChangeKeys();
  Start();
  EXPECT_THAT(images_.restored(), IsEmpty());
  Advance(kWriteInterval);
  Advance(kWriteInterval);
  EXPECT_THAT(Stored(), IsEmpty());
}

TEST_F(FactKeeperTest, AnotherConfigurationRemovesTheFacts) {
  Start();
  Learn(Image("a:1"));
  Advance(kWriteInterval);
  Advance(kWriteInterval);
  images_.ChangeKeys();
  Advance(kWriteInterval);
  Advance(kWriteInterval);
  EXPECT_THAT(Stored(), IsEmpty());
  ASSERT_THAT(api_.List<ImageFacts>(), SizeIs(1));
  EXPECT_EQ(api_.List<ImageFacts>()[0].configuration, images_.Configuration());
}

TEST_F(FactKeeperTest, WhatIsLearnedBeforeTheObjectsAreReadIsKept) {
  api_.FailNext(kube::Error::Unavailable("503"), "GET ", 2);
  Start();
  Learn(Image("a:1"));
  for (int i = 0; i < 6; ++i) Advance(kFirstRetry * 2);
  EXPECT_THAT(Stored(), ElementsAre("a:1"));
  EXPECT_EQ(metrics_.failures.Value(), 2);
}

TEST_F(FactKeeperTest, AFailedWriteIsTriedAgain) {
  Start();
  api_.FailNext(kube::Error::Unavailable("503"), "POST ", 3);
  Learn(Image("a:1"));
  for (int i = 0; i < 10; ++i) Advance(kFirstRetry * 2);
  EXPECT_THAT(Stored(), ElementsAre("a:1"));
  EXPECT_EQ(metrics_.failures.Value(), 3);
}

TEST_F(FactKeeperTest, WithoutTheKindItTriesAgainRarely) {
  api_.FailNext(kube::Error::NotFound("no such kind"), "GET ", 1'000);
  Start();
  Learn(Image("a:1"));
  for (int i = 0; i < 60 * 60; ++i) Advance(1s);
  EXPECT_EQ(api_.CountWrites(), 0);
  EXPECT_LT(api_.calls().size(), 150U);
}

TEST_F(FactKeeperTest, AnObjectThatOthersWroteOrDeletedIsWrittenAgain) {
  Start();
  Learn(Image("a:1"));
  Advance(kWriteInterval);
  Advance(kWriteInterval);
  ImageFacts object = api_.List<ImageFacts>()[0];
  object.facts.clear();
  api_.Update(object);
  Learn(Image("b:1"));
  for (int i = 0; i < 5; ++i) Advance(kFirstRetry * 2);
  EXPECT_THAT(Stored(), ElementsAre("a:1", "b:1"));

  api_.Delete<ImageFacts>(kube::KeyOf(object));
  Learn(Image("c:1"));
  for (int i = 0; i < 5; ++i) Advance(kFirstRetry * 2);
  EXPECT_THAT(Stored(), ElementsAre("a:1", "b:1", "c:1"));
}

TEST_F(FactKeeperTest, WhatOthersAddIsLearned) {
  Start();
  Learn(Image("r.io/a:1"));
  Advance(kWriteInterval);
  Advance(kWriteInterval);
  ASSERT_THAT(api_.List<ImageFacts>(), SizeIs(1));
  ImageFacts object = api_.List<ImageFacts>()[0];
  ImageFact added = object.facts[0];
  added.image = "r.io/imported:1";
  added.read -= 30s;
  object.facts.push_back(added);
  const int writes = api_.CountWrites();
  api_.Update(object);
  kube::Drain(io_);
  // The others have just been read by this inspector.
  ASSERT_THAT(images_.restored(), SizeIs(1));
  EXPECT_EQ(images_.restored()[0].first.image, "r.io/imported:1");
  for (int i = 0; i < 10; ++i) Advance(kWriteInterval);
  EXPECT_EQ(api_.CountWrites(), writes);
  // And kept in the next write.
  Learn(Image("r.io/b:1"));
  Advance(kWriteInterval);
  EXPECT_THAT(Stored(), ElementsAre("r.io/a:1", "r.io/b:1", "r.io/imported:1"));
}

TEST_F(FactKeeperTest, WhilePodsArePlacedThereIsAnObjectToAddTo) {
  Start();
  Advance(kWriteInterval);
  EXPECT_THAT(api_.List<ImageFacts>(), IsEmpty());
  Follow("config-uid", /*places=*/true);
  Advance(kWriteInterval);
  ASSERT_THAT(api_.List<ImageFacts>(), SizeIs(1));
  EXPECT_EQ(api_.List<ImageFacts>()[0].configuration, images_.Configuration());
}

// An own write comes back as an event.
TEST_F(FactKeeperTest, OwnWritesAreNotReadAgain) {
  Start();
  Advance(kWriteInterval);
  const int reads = api_.CountCalls("GET ");
  for (int i = 0; i < 5; ++i) {
    Learn(Image("r.io/a" + std::to_string(i) + ":1"));
    Advance(kWriteInterval);
  }
  Advance(kWriteInterval);
  EXPECT_EQ(api_.CountCalls("GET "), reads);
}

TEST_F(FactKeeperTest, WhatPullSecretsReadIsForTheirPods) {
  Start();
  Learn(Image("r.io/own:1", Holders::kPullSecret));
  Learn(Image("r.io/account:1", Holders::kServiceAccount));
  inspection::Learned without = Image("r.io/nobody:1", Holders::kPullSecret);
  without.pod = nullptr;
  Learn(std::move(without));
  Learn(Image("r.io/public:1"));
  inspection::Learned global = Image("r.io/global:1");
  global.anonymous = false;
  Learn(std::move(global));
  Advance(kWriteInterval);
  EXPECT_THAT(Stored(), ElementsAre("r.io/global:1", "r.io/own:1", "r.io/public:1"));
  std::map<std::string, std::string> scopes;
  for (const ImageFacts& object : api_.List<ImageFacts>())
    for (const ImageFact& fact : object.facts) scopes[fact.image] = fact.scope;
  EXPECT_EQ(scopes["r.io/own:1"], "team default key other");
  EXPECT_EQ(scopes["r.io/public:1"], "");
  EXPECT_EQ(scopes["r.io/global:1"], "*");

  // The next inspector has no credentials to find it with.
  Stop();
  Start();
  ASSERT_THAT(images_.restored(), SizeIs(1));
  EXPECT_EQ(images_.restored()[0].first.image, "r.io/public:1");
}

TEST_F(FactKeeperTest, WhatTheCacheKnowsHasTheTimeOfItsAnswer) {
  Start();
  Advance(kWriteInterval);
  inspection::Learned image = Image("r.io/a:1");
  image.read = clock_.Now() - 40s;
  Learn(std::move(image));
  auto now = SecondsNow(clock_);
  ASSERT_THAT(api_.List<ImageFacts>(), SizeIs(1));
  EXPECT_EQ(api_.List<ImageFacts>()[0].facts[0].read, now - 40s);
}

TEST_F(FactKeeperTest, AsksAgainForWhatIsUsedWhilePodsArePlaced) {
  Start();
  Learn(Image("r.io/a:1"));
  Advance(kTagPace.every);
  EXPECT_THAT(asked_, IsEmpty());

  Follow("config-uid", /*places=*/true);
  Learn(Image("r.io/a:1"));
  Learn(Image("r.io/own:1", Holders::kPullSecret));
  inspection::Learned unused = Image("r.io/unused:1");
  unused.pod = nullptr;
  Learn(std::move(unused));
  Advance(kShortPace.every);
  ASSERT_THAT(asked_, SizeIs(1));
  EXPECT_EQ(asked_[0].images[0].reference, "r.io/own:1");
  EXPECT_TRUE(asked_[0].images[0].always_pull);
  EXPECT_EQ(asked_[0].identity->ns, "team");
  EXPECT_EQ(asked_[0].identity->account, "default");
  EXPECT_THAT(asked_[0].identity->pull_secrets, ElementsAre("key", "other"));
  EXPECT_EQ(asked_[0].pod.ns, "team");

  asked_.clear();
  Advance(kTagPace.every - kShortPace.every);
  ASSERT_THAT(asked_, SizeIs(1));
  EXPECT_EQ(asked_[0].images[0].reference, "r.io/a:1");
  EXPECT_THAT(asked_[0].identity->pull_secrets, IsEmpty());
  EXPECT_EQ(metrics_.refreshes.Value(), 2);

  Follow("config-uid", /*places=*/false);
  asked_.clear();
  Advance(kTagPace.every);
  EXPECT_THAT(asked_, IsEmpty());
}

TEST_F(FactKeeperTest, WhatSomebodyElseHasReadNeedNotBeAskedForSoon) {
  Start();
  Follow("config-uid", /*places=*/true);
  Learn(Image("r.io/a:1"));
  Advance(kTagPace.every / 2);
  ASSERT_THAT(api_.List<ImageFacts>(), SizeIs(1));
  ImageFacts object = api_.List<ImageFacts>()[0];
  ASSERT_THAT(object.facts, SizeIs(1));
  object.facts[0].read = SecondsNow(clock_);
  api_.Update(object);
  kube::Drain(io_);
  Advance(kTagPace.every * 3 / 4);
  EXPECT_THAT(asked_, IsEmpty());
  Advance(kTagPace.every / 2);
  EXPECT_THAT(asked_, SizeIs(1));
}

TEST_F(FactKeeperTest, AnAnswerInTheBackgroundIsWrittenBeforeTheFactEnds) {
  Start();
  Advance(kWriteInterval);
  Follow("config-uid", /*places=*/true);
  Advance(kWriteInterval);
  Learn(Image("r.io/own:1", Holders::kPullSecret));
  Advance(kShortPace.every);
  inspection::Learned again = Image("r.io/own:1", Holders::kPullSecret);
  inspection::PodIdentity nobody = *again.pod;
  nobody.pod.clear();
  again.pod = std::make_shared<const inspection::PodIdentity>(std::move(nobody));
  Learn(std::move(again));
  Advance(kWriteInterval);
  ASSERT_THAT(api_.List<ImageFacts>(), SizeIs(1));
  auto now = SecondsNow(clock_);
  EXPECT_LE(now - api_.List<ImageFacts>()[0].facts[0].read, 2 * kWriteInterval);
}

// Its pods are gated then, and the cluster controller places them by the finding.
TEST_F(FactKeeperTest, AnImageWithAFindingIsNoFact) {
  Start();
  Learn(Image("docker.io/library/app:1"));
  Advance(1s);
  EXPECT_THAT(Stored(), ElementsAre("docker.io/library/app:1"));
  findings_.Put("finding", {.digest = kDigest, .architecture = "arm64", .ns = "team-a"});
  Advance(1s);
  EXPECT_THAT(Stored(), IsEmpty());
  Learn(Image("docker.io/library/app:2"));
  Advance(1min);
  EXPECT_THAT(Stored(), IsEmpty());

  findings_.Erase("finding");
  Learn(Image("docker.io/library/app:2"));
  Advance(1s);
  EXPECT_THAT(Stored(), ElementsAre("docker.io/library/app:2"));
  Stop();
  findings_.Put("finding", {.digest = kDigest, .architecture = "arm64"});
  Start();
  Advance(1min);
  EXPECT_THAT(Stored(), IsEmpty()) << "of an earlier leader";
}

}  // namespace
}  // namespace image_facts
