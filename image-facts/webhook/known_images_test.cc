// SPDX-License-Identifier: Apache-2.0
#include "image-facts/webhook/known_images.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "api/known_images.h"
#include "api/names.h"
#include "api/testing/make_config.h"
#include "image-facts/image_facts.h"
#include "image-facts/webhook/known_images_metrics.h"
#include "kube/base/task_group.h"
#include "kube/metrics/metrics.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "placement/pod_metadata.h"

namespace image_facts {
namespace {

using namespace std::chrono_literals;
using api::MakeClusterConfig;
using kube::MakePod;
using kube::core::Pod;

constexpr char kNs[] = "operator-ns";
constexpr kube::Resource kConfigs = kube::ResourceOf<api::ClusterPodPlacementConfig>::value;
const kube::ObjectKey kConfig{"", std::string(api::kClusterConfigName)};

class KnownImagesTest : public testing::Test {
 protected:
  KnownImagesTest() {
    ImageFacts facts;
    facts.mutable_metadata()->set_name("image-facts-0");
    facts.mutable_metadata()->set_namespace_(kNs);
    placement::ImagePlatforms both;
    both.platforms = {{"linux", "amd64"}, {"linux", "arm64"}};
    placement::ImagePlatforms level = both;
    level.platforms[0].amd64_level = 3;
    auto now = SecondsNow(clock_);
    const std::string digest = "sha256:" + std::string(64, 'a');
    facts.facts = {
        {"r.io/both:1", digest, std::make_shared<const placement::ImagePlatforms>(both), now},
        {"r.io/level:1", digest, std::make_shared<const placement::ImagePlatforms>(level), now}};
    api_.Create(facts);
    known_.Start(tasks_);
    kube::Drain(io_);
  }
  ~KnownImagesTest() override {
    EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), kube::IsOk());
  }

  static MakeClusterConfig Placing() {
    return MakeClusterConfig().Set("/spec/knownImages", api::kPlaceKnownImages);
  }
  void Use(MakeClusterConfig config) {
    bool exists = api_.GetJson(kConfigs, kConfig).has_value();
    exists ? api_.UpdateJson(kConfigs, config.Build()) : api_.CreateJson(kConfigs, config.Build());
    kube::Drain(io_);
  }
  bool Places(Pod pod) { return known_.Place(pod); }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  kube::Metrics all_metrics_;
  KnownImagesMetrics metrics_{all_metrics_};
  kube::TaskGroup tasks_{io_.get_executor()};
  KnownImages known_{api_, clock_, kNs, metrics_};
};

const Pod kBoth = MakePod("web").Image("r.io/both:1");

TEST_F(KnownImagesTest, PlacesAPodAsTheConfigSays) {
  Use(Placing().Prefer("arm64", 7).Tolerate());
  Pod pod = kBoth;
  ASSERT_TRUE(known_.Place(pod));
  EXPECT_EQ(pod.spec().tolerations_size(), 2);
  EXPECT_EQ(pod.spec()
                .affinity()
                .node_affinity()
                .preferred_during_scheduling_ignored_during_execution(0)
                .weight(),
            7);
  EXPECT_EQ(placement::LabelOf(pod, api::kNodeAffinityLabel), api::kSet);
  EXPECT_EQ(metrics_.facts.Value(), 2);
  EXPECT_EQ(metrics_.placed.Value(), 1);
}

TEST_F(KnownImagesTest, WithoutAKnownImageOrAConfigThatAllowsItNoPodIsPlaced) {
  EXPECT_FALSE(Places(kBoth)) << "no config";
  Use(MakeClusterConfig());
  EXPECT_FALSE(Places(kBoth)) << "the default";
  Use(Placing());
  EXPECT_TRUE(Places(kBoth));
  EXPECT_FALSE(Places(MakePod("web").Image("r.io/other:1")));
  EXPECT_EQ(metrics_.never_read.Value(), 1);
  // The cluster controller adds to gated pods what the webhook of policies missed.
  Use(Placing().Set("/spec/plugins/schedulingPolicies", {{"enabled", true}}));
  EXPECT_FALSE(Places(kBoth));
  Use(Placing().Set("/metadata/finalizers", kube::Json::array({"test/keeps"})));
  EXPECT_TRUE(Places(kBoth));
  api_.DeleteJson(kConfigs, kConfig);
  kube::Drain(io_);
  EXPECT_FALSE(Places(kBoth)) << "being deleted";
}

TEST_F(KnownImagesTest, ALevelOfAmd64CountsOnlyWithThePlugin) {
  const Pod pod = MakePod("web").Image("r.io/level:1");
  auto terms = [&](MakeClusterConfig config) {
    Use(std::move(config));
    Pod placed = pod;
    EXPECT_TRUE(known_.Place(placed));
    return placed.spec()
        .affinity()
        .node_affinity()
        .required_during_scheduling_ignored_during_execution()
        .node_selector_terms_size();
  };
  EXPECT_EQ(terms(Placing()), 1);
  EXPECT_EQ(terms(Placing().Set("/spec/plugins/amd64Levels", {{"enabled", true}})), 2);
}

// The cluster controller records it once the pod is stored.
TEST_F(KnownImagesTest, APodWhoseAuthorGetsAnEventIsGated) {
  Use(Placing().Prefer("arm64", 7));
  EXPECT_TRUE(Places(kBoth));
  EXPECT_FALSE(Places(MakePod("web").Image("r.io/both:1").NodeSelector(api::kArchLabel, "arm64")));
}

}  // namespace
}  // namespace image_facts
