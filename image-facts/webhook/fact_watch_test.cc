// SPDX-License-Identifier: Apache-2.0
#include "image-facts/webhook/fact_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <vector>

#include "image-facts/fact_scope.h"
#include "image-facts/image_facts.h"
#include "image-facts/lifetime.h"
#include "image-facts/testing/make_facts.h"
#include "kube/base/task_group.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace image_facts {
namespace {

using namespace std::chrono_literals;
using kube::MakePod;
using placement::ArchitectureSet;
using ::testing::ElementsAre;

constexpr char kNs[] = "operator-ns";
const std::string kDigest = "sha256:" + std::string(64, 'a');

class FactWatchTest : public testing::Test {
 protected:
  FactWatchTest() {
    tasks_.Spawn("facts", facts_.Run());
    kube::Drain(io_);
  }
  ~FactWatchTest() override {
    EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), kube::IsOk());
  }

  // An image for linux on `architectures`, read `age` ago.
  ImageFact Fact(std::string image, ArchitectureSet architectures, std::chrono::seconds age = 0s) {
    auto now = SecondsNow(clock_);
    return {std::move(image), kDigest, OnLinux(architectures), now - age};
  }
  void Store(const std::string& name, std::vector<ImageFact> facts,
             const std::string& configuration = "c") {
    StoreFacts(api_, kNs, name, std::move(facts), configuration);
    kube::Drain(io_);
  }
  // The architectures on linux; or "old", "never", "no registry", "not current".
  std::string Known(const kube::core::Pod& pod) {
    auto known = facts_.PlatformsOf(pod);
    if (const auto* common = std::get_if<placement::CommonPlatforms>(&known)) {
      std::string text;
      for (const std::string& architecture : common->On("linux")) text += architecture + " ";
      return text;
    }
    switch (std::get<NotKnown>(known)) {
      case NotKnown::kNotCurrent:
        return "not current";
      case NotKnown::kNeverRead:
        return "never";
      case NotKnown::kTooOld:
        return "old";
      case NotKnown::kOfNoRegistry:
        return "no registry";
    }
    return "";
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  FactWatch facts_{api_, clock_, kNs};
  kube::TaskGroup tasks_{io_.get_executor()};
};

TEST_F(FactWatchTest, GivesWhatAllImagesHaveInCommon) {
  Store("image-facts-0", {Fact("docker.io/library/a:1", {"amd64", "arm64"})});
  Store("image-facts-1", {Fact("r.io/b:latest", {"arm64", "s390x"})});
  EXPECT_EQ(facts_.size(), 2U);
  EXPECT_EQ(Known(MakePod("web").Image("a:1")), "amd64 arm64 ");
  EXPECT_EQ(Known(MakePod("web").Image("a:1").InitImage("r.io/b")), "arm64 ");
  EXPECT_EQ(Known(MakePod("web").Image("a:1").Image("a:2")), "never");
  EXPECT_EQ(Known(MakePod("web")), "no registry");
  EXPECT_EQ(Known(MakePod("web").Image("a:1", "Never")), "no registry");
  EXPECT_EQ(Known(MakePod("web").Image("NO:NAME:")), "never");
}

TEST_F(FactWatchTest, AVolumeIsNotKnown) {
  Store("image-facts-0", {Fact("docker.io/library/a:1", {"amd64"})});
  kube::core::Pod pod = MakePod("web").Image("a:1");
  pod.mutable_spec()->add_volumes()->mutable_source()->mutable_image()->set_reference("a:1");
  EXPECT_EQ(Known(pod), "amd64 ") << "a container has the image as well";
  pod.mutable_spec()->mutable_volumes(0)->mutable_source()->mutable_image()->set_reference("a:2");
  Store("image-facts-1", {Fact("docker.io/library/a:2", {"amd64"})});
  EXPECT_EQ(Known(pod), "no registry");
}

TEST_F(FactWatchTest, ATagCountsForATime) {
  Store("image-facts-0", {Fact("r.io/a:1", {"amd64"}, kAlwaysLifetime - 1s)});
  EXPECT_EQ(Known(MakePod("web").Image("r.io/a:1", "Always")), "amd64 ");
  EXPECT_EQ(Known(MakePod("web").Image("r.io/a:1", "IfNotPresent")), "amd64 ");
  clock_.Advance(1s);
  EXPECT_EQ(Known(MakePod("web").Image("r.io/a:1", "Always")), "old");
  EXPECT_EQ(Known(MakePod("web").Image("r.io/a:1", "IfNotPresent")), "amd64 ");
  clock_.Advance(kTagLifetime - kAlwaysLifetime);
  EXPECT_EQ(Known(MakePod("web").Image("r.io/a:1", "IfNotPresent")), "old");
}

TEST_F(FactWatchTest, WhatPullSecretsReadCountsForTheirPodsAndNotForLong) {
  const std::string digest = "r.io/a@" + kDigest;
  std::vector<ImageFact> facts = {Fact("r.io/a:1", {"amd64"}), Fact(digest, {"amd64"})};
  for (ImageFact& fact : facts) fact.scope = "team default key other";
  Store("image-facts-0", facts);
  auto pod = [](const std::string& ns, const std::string& account,
                const std::vector<std::string>& secrets, const std::string& image = "r.io/a:1") {
    MakePod made("web");
    made.Namespace(ns).Image(image);
    for (const std::string& secret : secrets) made.PullSecret(secret);
    kube::core::Pod pod = made;
    pod.mutable_spec()->set_service_account_name(account);
    return pod;
  };
  EXPECT_EQ(Known(pod("team", "default", {"key", "other"})), "amd64 ");
  EXPECT_EQ(Known(pod("team", "default", {"key", "other"}, digest)), "amd64 ");
  EXPECT_EQ(Known(pod("other", "default", {"key", "other"})), "never");
  EXPECT_EQ(Known(pod("other", "default", {"key", "other"}, digest)), "never");
  EXPECT_EQ(Known(pod("team", "web", {"key", "other"})), "never");
  EXPECT_EQ(Known(pod("team", "default", {"other", "key"})), "never");
  EXPECT_EQ(Known(pod("team", "default", {"key"})), "never");
  EXPECT_EQ(Known(pod("team", "default", {})), "never");
  EXPECT_EQ(Known(pod("team", "", {"key", "other"})), "never");
  EXPECT_EQ(Known(pod("team", "default", {"key other"})), "never");

  clock_.Advance(kPullSecretLifetime);
  EXPECT_EQ(Known(pod("team", "default", {"key", "other"})), "old");
  EXPECT_EQ(Known(pod("team", "default", {"key", "other"}, digest)), "old");
  // What everybody may read serves these pods, too.
  Store("image-facts-1", {Fact("r.io/a:1", {"arm64"})});
  EXPECT_EQ(Known(pod("team", "default", {"key", "other"})), "arm64 ");
}

TEST_F(FactWatchTest, WhatTheClusterMayReadCountsForAll) {
  ImageFact fact = Fact("r.io/a:1", {"amd64"}, kTagLifetime - 1s);
  fact.scope = kWholeCluster;
  Store("image-facts-0", {fact});
  EXPECT_EQ(Known(MakePod("web").Image("r.io/a:1")), "amd64 ");
  EXPECT_EQ(Known(MakePod("web").Namespace("any").PullSecret("key").Image("r.io/a:1")), "amd64 ");
  clock_.Advance(1s);
  EXPECT_EQ(Known(MakePod("web").Image("r.io/a:1")), "old");
  // Nor does a digest, when the cluster's credentials may be others.
  fact = Fact("r.io/a@" + kDigest, {"amd64"}, kTagLifetime);
  fact.scope = kWholeCluster;
  Store("image-facts-0", {fact});
  EXPECT_EQ(Known(MakePod("web").Image(fact.image)), "old");
}

TEST_F(FactWatchTest, ADigestCountsForEver) {
  const std::string image = "r.io/a@" + kDigest;
  Store("image-facts-0", {Fact(image, {"amd64"}, 24h)});
  EXPECT_EQ(Known(MakePod("web").Image(image, "Always")), "amd64 ");
}

TEST_F(FactWatchTest, AFactOfTheFutureDoesNotCount) {
  Store("image-facts-0", {Fact("r.io/a:1", {"amd64"}, -kClockSkew - 1s)});
  EXPECT_EQ(Known(MakePod("web").Image("r.io/a:1")), "not current");
  Store("image-facts-0", {Fact("r.io/a:1", {"amd64"}, -kClockSkew)});
  EXPECT_EQ(Known(MakePod("web").Image("r.io/a:1")), "amd64 ");
}

TEST_F(FactWatchTest, OnlyFactsOfTheNewestConfigurationCount) {
  Store("image-facts-0", {Fact("r.io/a:1", {"amd64"})}, "old");
  Store("image-facts-1", {Fact("r.io/b:1", {"amd64"})}, "old");
  EXPECT_EQ(Known(MakePod("web").Image("r.io/b:1")), "amd64 ");
  Store("image-facts-0", {}, "new");
  EXPECT_EQ(Known(MakePod("web").Image("r.io/b:1")), "never");
}

TEST_F(FactWatchTest, ADeletedObjectIsForgotten) {
  Store("image-facts-0", {Fact("r.io/a:1", {"amd64"})});
  api_.Delete<ImageFacts>({kNs, "image-facts-0"});
  kube::Drain(io_);
  EXPECT_EQ(Known(MakePod("web").Image("r.io/a:1")), "never");
  EXPECT_EQ(facts_.size(), 0U);
}

TEST_F(FactWatchTest, WithoutAWatchNothingIsKnown) {
  Store("image-facts-0", {Fact("r.io/a:1", {"amd64"})});
  ASSERT_TRUE(facts_.current());
  api_.Stop();
  kube::Drain(io_);
  EXPECT_FALSE(facts_.current());
  EXPECT_EQ(Known(MakePod("web").Image("r.io/a:1")), "not current");
  api_.Start();
  for (int i = 0; i < 60; ++i) {
    clock_.Advance(1s);
    kube::Drain(io_);
  }
  Store("image-facts-0", {Fact("r.io/a:1", {"amd64"})});
  EXPECT_EQ(Known(MakePod("web").Image("r.io/a:1")), "amd64 ");
}

}  // namespace
}  // namespace image_facts
