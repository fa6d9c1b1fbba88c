// SPDX-License-Identifier: Apache-2.0
#include "image-facts/operator/known_images_feature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "api/known_images.h"
#include "image-facts/known_images_report.h"
#include "kube/metrics/metrics.h"
#include "operator/testing/harness.h"

namespace image_facts {
namespace {

using operator_::Harness;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

class KnownImagesFeatureTest : public testing::Test {
 protected:
  KnownImagesFeatureTest() { h_.features.push_back(NewKnownImagesFeature(metrics_)); }

  void Start() {
    h_.StartOperator();
    ASSERT_TRUE(h_.BringUpCluster());
  }
  void SetSpec(const std::string& field, const kube::Json& value) {
    kube::Json config = *h_.api.GetJson(Harness::kClusterConfigs, {"", "cluster"});
    config["spec"][kube::Json::json_pointer(field)] = value;
    h_.api.UpdateJson(Harness::kClusterConfigs, config);
  }
  void Place() { SetSpec("/knownImages", api::kPlaceKnownImages); }
  void Answer(const KnownImagesReport& report) { h_.webhooks.report = ToText(report); }
  // "none" without the condition.
  std::string Condition() { return h_.ClusterCondition(kKnownImagesCondition); }
  std::string Message() { return h_.ClusterMessage(kKnownImagesCondition); }

  kube::Metrics all_metrics_;
  PolicyMetrics metrics_{all_metrics_};
  Harness h_;
};

TEST_F(KnownImagesFeatureTest, SaysHowManyPodsTheWebhookPlaces) {
  Start();
  h_.Pass(90s);
  EXPECT_EQ(Condition(), "none");

  Place();
  ASSERT_TRUE(h_.Await([&] { return Condition() == "False NoneKnown"; }));
  EXPECT_EQ(h_.ClusterCondition("Degraded"), "False AsExpected");

  Answer({"a1", 100, 90, 12});
  h_.clock.Advance(kReportEvery);
  ASSERT_TRUE(h_.Await([&] { return Condition() == "True PlacedByWebhook"; }));
  EXPECT_EQ(Message(),
            "90 of 100 pods (90 %) were placed at their creation since 1 replica of the webhook "
            "started; 12 images are known");

  // Another one answers.
  Answer({"b2", 50, 10, 13});
  h_.clock.Advance(kReportEvery);
  ASSERT_TRUE(h_.Await([&] { return Message().starts_with("100 of 150 pods (66 %)"); }));
  EXPECT_THAT(Message(), HasSubstr("2 replicas"));
  EXPECT_THAT(Message(), HasSubstr("13 images are known"));

  // Without an answer, what is known stays; a replica that is gone does not count for long.
  h_.webhooks.report.clear();
  h_.clock.Advance(kReportCounts / 2);
  h_.Pass(1s);
  EXPECT_THAT(Message(), HasSubstr("2 replicas"));
  Answer({"b2", 60, 15, 13});
  h_.clock.Advance(kReportCounts / 2 + kReportEvery);
  EXPECT_TRUE(h_.Await([&] { return Message().starts_with("15 of 60 pods (25 %)"); }));

  SetSpec("/knownImages", "Gate");
  EXPECT_TRUE(h_.Await([&] { return Condition() == "none"; }));
}

TEST_F(KnownImagesFeatureTest, AtRestTheStatusIsNotWritten) {
  Start();
  Place();
  Answer({"a1", 100, 90, 12});
  ASSERT_TRUE(h_.Await([&] { return Condition() == "True PlacedByWebhook"; }));
  h_.Pass(5s);
  const int writes = h_.api.CountWrites();
  for (int i = 0; i < 10; ++i) {
    h_.clock.Advance(kReportEvery);
    h_.Pass(1s);
  }
  EXPECT_EQ(h_.api.CountWrites(), writes);
}

TEST_F(KnownImagesFeatureTest, SaysWhatAPolicyPlaces) {
  Start();
  Place();
  metrics_.images.Set(812);
  ASSERT_TRUE(h_.Await([&] { return Condition() == "True PlacedByPolicy"; }));
  EXPECT_EQ(Message(), "the policy of the cluster gate places pods of 812 images");
}

TEST_F(KnownImagesFeatureTest, SaysWhyNoPodIsPlaced) {
  Start();
  Place();
  Answer({"a1", 0, 0, 3});
  ASSERT_TRUE(h_.Await([&] { return Condition() == "True NoPods"; }));
  SetSpec("/plugins/schedulingPolicies", {{"enabled", true}});
  EXPECT_TRUE(h_.Await([&] { return Condition() == "False SchedulingPolicies"; }));
}

TEST_F(KnownImagesFeatureTest, OtherTextIsNoReport) {
  Start();
  Place();
  h_.webhooks.report = "a1 1 2 3";
  ASSERT_TRUE(h_.Await([&] { return Condition() == "False NoneKnown"; }));
  h_.webhooks.refuse = kube::Error::Unavailable("503");
  h_.clock.Advance(kReportEvery);
  h_.Pass(5s);
  EXPECT_EQ(Condition(), "False NoneKnown");
}

}  // namespace
}  // namespace image_facts
