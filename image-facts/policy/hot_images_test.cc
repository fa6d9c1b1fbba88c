// SPDX-License-Identifier: Apache-2.0
#include "image-facts/policy/hot_images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <memory>

#include "api/known_images.h"
#include "api/testing/make_config.h"
#include "image-facts/image_facts.h"
#include "image-facts/lifetime.h"
#include "image-facts/testing/make_facts.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/run.h"

namespace image_facts {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kNs[] = "operator-ns";
const std::string kDigest = "sha256:" + std::string(64, 'a');

class HotImagesTest : public testing::Test {
 protected:
  HotImagesTest() {
    images_.OnChange([this] { ++changes_; });
    images_.Start(tasks_);
  }
  ~HotImagesTest() override {
    kube::IgnoreError(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), "the test is over");
  }

  ImageFact Fact(std::string image, std::chrono::seconds age = 0s,
                 const std::string& architecture = "amd64") {
    auto now = SecondsNow(clock_);
    return {std::move(image), kDigest, OnLinux({architecture}), now - age};
  }
  void Store(const std::string& name, std::vector<ImageFact> facts,
             const std::string& configuration = "c") {
    StoreFacts(api_, kNs, name, std::move(facts), configuration);
    kube::Drain(io_);
  }
  void Pass(std::chrono::seconds time) {
    for (; time > 0s; time -= 1s) {
      clock_.Advance(1s);
      kube::Drain(io_);
    }
  }
  void Want(bool wanted) {
    const api::ClusterPodPlacementConfig config =
        api::MakeClusterConfig().Set("/spec/knownImages", api::kPlaceKnownImages);
    EXPECT_TRUE(images_.Table(wanted ? &config : nullptr).empty());
    kube::Drain(io_);
  }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const KnownImage& image : images_.List()) names.push_back(image.image);
    return names;
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_;
  kube::TaskGroup tasks_{io_.get_executor()};
  kube::Metrics all_metrics_;
  PolicyMetrics metrics_{all_metrics_};
  HotImages images_{api_, clock_, kNs, metrics_};
  int changes_ = 0;
};

TEST_F(HotImagesTest, TheTableIsOfTheConfiguration) {
  Want(true);
  Store("facts-0", {Fact("r.io/a:1")});
  Pass(kChangeEvery);
  api::ClusterPodPlacementConfig config =
      api::MakeClusterConfig().Set("/spec/knownImages", api::kPlaceKnownImages);
  EXPECT_EQ(images_.Table(&config).images.count("r.io/a:1"), 1u);
  config.spec.known_images = api::kGateKnownImages;
  EXPECT_TRUE(images_.Table(&config).empty());
}

TEST_F(HotImagesTest, ItIsEmptyUntilAPolicyNeedsIt) {
  Store("facts-0", {Fact("r.io/a:1")});
  Pass(60s);
  EXPECT_THAT(Names(), IsEmpty());
  Want(true);
  Pass(1s);
  EXPECT_THAT(Names(), ElementsAre("r.io/a:1"));
  EXPECT_EQ(changes_, 1);
  Want(false);
  EXPECT_THAT(Names(), IsEmpty());
  Pass(60s);
  EXPECT_EQ(changes_, 1);
  Want(true);
  Pass(1s);
  EXPECT_THAT(Names(), ElementsAre("r.io/a:1"));
}

TEST_F(HotImagesTest, ATagIsTakenOffBeforeItsFactEndsToCount) {
  Want(true);
  Store("facts-0", {Fact("r.io/a:1"), Fact("r.io/b@" + kDigest), Fact("r.io/old:1", kTagLifetime),
                    Fact("r.io/future:1", -3600s)});
  Pass(kChangeEvery);
  EXPECT_THAT(Names(), ElementsAre("r.io/a:1", "r.io/b@" + kDigest));
  Pass(kTagLifetime - kTakenOffBefore);
  EXPECT_THAT(Names(), ElementsAre("r.io/b@" + kDigest));
}

TEST_F(HotImagesTest, AnImageThatIsReadAgainChangesNothing) {
  Want(true);
  Store("facts-0", {Fact("r.io/a:1")});
  Pass(kChangeEvery);
  for (int i = 0; i < 10; ++i) {
    Pass(60s);
    Store("facts-0", {Fact("r.io/a:1")});
  }
  EXPECT_EQ(changes_, 1);
  Store("facts-0", {Fact("r.io/a:1", 0s, "arm64")});
  Pass(kChangeEvery);
  EXPECT_EQ(changes_, 2);
}

TEST_F(HotImagesTest, ChangesAreFewHoweverManyImagesCome) {
  Want(true);
  std::vector<ImageFact> facts;
  for (int i = 0; i < 60; ++i) {
    facts.push_back(Fact("r.io/a:" + std::to_string(i)));
    Store("facts-0", facts);
    Pass(1s);
  }
  EXPECT_LE(changes_, 5);
  Pass(kChangeEvery);
  EXPECT_EQ(images_.List().size(), 60u);
}

TEST_F(HotImagesTest, FactsOfAnotherConfigurationDoNotCount) {
  Want(true);
  Store("facts-0", {Fact("r.io/a:1")}, "before");
  Store("facts-1", {Fact("r.io/b:1")}, "now");
  Pass(kChangeEvery);
  EXPECT_THAT(Names(), ElementsAre("r.io/b:1"));
}

// A tenant who brings many images does not push out those of others.
TEST_F(HotImagesTest, WhatIsListedStaysWhileItCounts) {
  Want(true);
  Store("facts-0", {Fact("r.io/zz:1")});
  Pass(kChangeEvery);
  std::vector<ImageFact> facts;
  const std::string long_name = "r.io/" + std::string(200, 'a') + ":";
  for (int i = 0; i < 400; ++i) facts.push_back(Fact(long_name + std::to_string(i)));
  Store("facts-1", facts);
  Pass(kChangeEvery);
  ASSERT_FALSE(Names().empty());
  EXPECT_EQ(Names().back(), "r.io/zz:1");
  size_t bytes = 0;
  for (const std::string& name : Names()) bytes += name.size();
  EXPECT_LE(bytes, kMaxNameBytes);
  EXPECT_GT(bytes, kMaxNameBytes / 2);
}

}  // namespace
}  // namespace image_facts
