// SPDX-License-Identifier: Apache-2.0
#include "operator/self_test/self_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>

#include "api/cluster_pod_placement_config.h"
#include "api/names.h"
#include "api/pod_placement_config.h"
#include "api/validation.h"
#include "kube/testing/advancing_clock.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_store.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/types/kinds.h"

namespace operator_ {
namespace {

using kube::Admitted;
using kube::Code;
using kube::Error;
using kube::Json;
using kube::Result;
using testing::HasSubstr;
using namespace std::chrono_literals;

constexpr kube::Resource kClusterConfigs = kube::ResourceOf<api::ClusterPodPlacementConfig>::value;
const kube::ObjectKey kDeployment{"ops", "multiarch-tuning-operator"};

// What the operator's webhooks answer.
kube::Async<Admitted> Validate(kube::AdmissionAttributes asked, bool placement_is_on) {
  api::FieldErrors errors;
  if (asked.collection.ends_with("/podplacementconfigs")) {
    Result<api::PodPlacementConfig> config = api::PodPlacementConfig::FromJson(*asked.object);
    if (!config) co_return config.error();
    errors = api::ValidateCreate(*config, {}, placement_is_on);
  } else {
    Result<api::ClusterPodPlacementConfig> config =
        api::ClusterPodPlacementConfig::FromJson(*asked.object);
    if (!config) co_return config.error();
    errors = api::ValidateCreate(*config);
  }
  EXPECT_TRUE(asked.dry_run);
  if (!errors.empty()) {
    co_return Error::FromHttpStatus(
        422, "Invalid", "admission webhook \"x\" denied the request: " + api::Describe(errors));
  }
  co_return Admitted{};
}

class SelfTestTest : public testing::Test {
 protected:
  void SetUp() override {
    api_.CreateJson(kube::kDeployments, Deployment("True"));
    for (const char* plural : {"clusterpodplacementconfigs", "podplacementconfigs"}) {
      Json crd = {{"metadata", {{"name", std::string(plural) + ".multiarch.openshift.io"}}}};
      crd["spec"]["versions"] = {{{"name", "v1beta1"}, {"served", true}},
                                 {{"name", "v1"}, {"served", false}}};
      crd["status"]["conditions"] = {{{"type", "Established"}, {"status", "True"}}};
      api_.CreateJson(kube::kCustomResourceDefinitions, crd);
    }
    SetPlacement(true);
  }
  static Json Deployment(const char* available) {
    Json object = {{"metadata", {{"namespace", kDeployment.ns}, {"name", kDeployment.name}}}};
    object["status"]["conditions"] = {
        {{"type", "Available"}, {"status", available}, {"message", "no replica"}}};
    return object;
  }
  // Whether there is a ClusterPodPlacementConfig.
  void SetPlacement(bool on) {
    api_.store().Admit(
        [on](kube::AdmissionAttributes asked) { return Validate(std::move(asked), on); });
  }
  Result<> Run(
      const std::string& crd_version = "podplacementconfigs.multiarch.openshift.io/v1beta1") {
    SelfTestOptions options{
        .ns = "ops",
        .crd_versions = {"clusterpodplacementconfigs.multiarch.openshift.io/v1beta1", crd_version}};
    testing::internal::CaptureStdout();
    Result<> result =
        kube::Run(io_, SelfTest(api_, clock_, std::move(options), clock_.Now() + 10s));
    output_ = testing::internal::GetCapturedStdout();
    return result;
  }

  boost::asio::io_context io_;
  kube::AdvancingClock clock_;
  kube::FakeApiServer api_;
  std::string output_;
};

TEST_F(SelfTestTest, PassesAndStoresNothing) {
  uint64_t version = api_.resource_version();
  EXPECT_THAT(Run(), kube::IsOk());
  EXPECT_EQ(api_.resource_version(), version);
  EXPECT_THAT(output_, testing::Not(HasSubstr("FAILED")));
  EXPECT_EQ(std::count(output_.begin(), output_.end(), '\n'), 8) << output_;
}

TEST_F(SelfTestTest, PassesWithAndWithoutAClusterPodPlacementConfig) {
  SetPlacement(false);
  EXPECT_THAT(Run(), kube::IsOk());
  SetPlacement(true);
  api_.CreateJson(kClusterConfigs, {{"metadata", {{"name", "cluster"}}}});
  EXPECT_THAT(Run(), kube::IsOk());
}

TEST_F(SelfTestTest, WaitsUntilTheOperatorIsAvailable) {
  api_.UpdateJson(kube::kDeployments, Deployment("False"));
  EXPECT_THAT(Run(), kube::FailsWith(Code::kUnavailable, "1 of 8 checks failed"));
  EXPECT_THAT(output_, HasSubstr("FAILED: Deployment ops/multiarch-tuning-operator is available: "
                                 "Unavailable: its condition Available is not True: no replica\n"));

  int reads = 0;
  api_.BeforeEach([&](const std::string& call) {
    if (call.ends_with("/deployments/multiarch-tuning-operator") && ++reads == 3)
      api_.UpdateJson(kube::kDeployments, Deployment("True"));
  });
  EXPECT_THAT(Run(), kube::IsOk());
  EXPECT_EQ(reads, 3);
}

TEST_F(SelfTestTest, FailsWithoutAVersionOfACrd) {
  for (const char* version : {"v1", "v2"}) {
    EXPECT_THAT(Run("podplacementconfigs.multiarch.openshift.io/" + std::string(version)),
                kube::FailsWith(Code::kUnavailable));
    EXPECT_THAT(output_, HasSubstr("it does not serve " + std::string(version)));
  }
  EXPECT_THAT(Run("nothing.multiarch.openshift.io/v1"), kube::FailsWith(Code::kUnavailable));
  EXPECT_THAT(output_, HasSubstr("NotFound"));
}

TEST_F(SelfTestTest, FailsIfTheApiServerDoesNotCallTheWebhook) {
  api_.store().Admit(nullptr);
  EXPECT_THAT(Run(), kube::FailsWith(Code::kUnavailable, "2 of 8 checks failed"));
  EXPECT_THAT(output_, HasSubstr("FAILED: the webhook refuses an invalid PodPlacementConfig: "
                                 "Unavailable: it was accepted"));
}

TEST_F(SelfTestTest, FailsIfTheWebhookDoesNotAnswer) {
  Error unreachable = Error::FromHttpStatus(500, "InternalError", "failed calling webhook");
  api_.FailNext(unreachable, "dryRun=All", 1000);
  EXPECT_THAT(Run(), kube::FailsWith(Code::kUnavailable, "5 of 8 checks failed"));
  EXPECT_THAT(output_, HasSubstr("failed calling webhook"));
}

}  // namespace
}  // namespace operator_
