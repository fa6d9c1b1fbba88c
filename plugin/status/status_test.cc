// SPDX-License-Identifier: Apache-2.0
#include "plugin/status/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>
#include <vector>

#include "api/names.h"
#include "api/testing/make_config.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "plugin/pod/cause.h"
#include "plugin/pod/surroundings.h"
#include "plugin/status/read_status.h"
#include "plugin/status/waiting_summary.h"

namespace plugin {
namespace {

using kube::MakePod;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::SizeIs;

TEST(StatusTest, RegistriesInErrors) {
  EXPECT_EQ(RegistryIn("inspect q.io/a:1: registry q.io: 401 Unauthorized"), "q.io");
  EXPECT_EQ(RegistryIn("registry q.io:5000: TLS"), "q.io:5000");
  EXPECT_EQ(RegistryIn("registry [fd00::1]:5000: x"), "[fd00::1]:5000");
  EXPECT_EQ(RegistryIn("too many images"), "");
  EXPECT_EQ(RegistryIn("registry "), "");
}

MakePod Waits(const std::string& name, std::string_view gate) {
  return MakePod(name).Namespace("shop").Gate(gate).Label(gate, api::kGated);
}

TEST(StatusTest, WhatIsWrong) {
  StatusEvidence evidence;
  evidence.now = kube::WallTime(std::chrono::hours(24));
  evidence.cluster_config = api::MakeClusterConfig();
  evidence.cluster_config->status.conditions = {
      {"Available", "True", "AsExpected", "fine"},
      {"Progressing", "True", "RollsOut", "soon"},
      {"Degraded", "True", "WebhookUnreachable", "no connection"},
      {"ArchitectureTaintsTolerated", "False", "PluginDisabled", "a node is tainted"},
      {"PodPlacementWebhookNotRolledOut", "False", "AsExpected", "fine"}};
  api::PodPlacementConfig config = api::MakeConfig("web", "shop");
  config.status.conditions = {{"Available", "False", "NotReady", "0 of 2"}};
  evidence.configs = {config};
  evidence.components = {{"operator", "controller", "0.2.0", 2, 2},
                         {"shop", "shard", "0.1.0", 1, 0}};
  Surroundings surroundings(
      {.cluster_config = evidence.cluster_config, .configs = evidence.configs});
  const std::vector<kube::core::Pod> gated = {
      Waits("a", api::kClusterGate)
          .Label(api::kInspectErrorLabel, "")
          .Annotation(api::kInspectErrorAnnotation, "registry q.io: 401 Unauthorized"),
      Waits("b", api::kLocalGate), Waits("c", api::kLocalGate)};
  for (const kube::core::Pod& pod : gated) {
    const PodEvidence of{.now = evidence.now, .pod = pod, .around = surroundings.Of("shop")};
    evidence.waiting.Add(pod, FindCause(of), evidence.now);
  }
  evidence.certificates["hook"] = evidence.now + std::chrono::hours(49);

  const Status status = StatusOf(evidence);
  EXPECT_THAT(status.problems,
              ElementsAre("ClusterPodPlacementConfig: Degraded is True: WebhookUnreachable: no "
                          "connection",
                          "ClusterPodPlacementConfig: ArchitectureTaintsTolerated is False: "
                          "PluginDisabled: a node is tainted",
                          "shop/web: Available is False: NotReady: 0 of 2"));
  EXPECT_THAT(status.versions, ElementsAre("0.1.0", "0.2.0"));
  ASSERT_THAT(status.waiting, SizeIs(2));
  EXPECT_EQ(status.waiting[0].cause, "ShardNotAvailable");
  EXPECT_EQ(status.waiting[0].pods, 2u);
  EXPECT_EQ(status.waiting[1].cause, "RegistryRefusesCredentials");
  EXPECT_EQ(status.waiting[1].example, "shop/a");
  EXPECT_THAT(status.registries, ElementsAre(Pair("q.io", 1u)));
  EXPECT_THAT(status.certificates, ElementsAre(Pair("hook", std::chrono::days(2))));
  const std::string text = Say(status);
  EXPECT_THAT(text, HasSubstr("shop        shard        0/1     0.1.0\n"));
  EXPECT_THAT(text, HasSubstr("registry  q.io: 1 pods wait for it\n"));
  EXPECT_EQ(AsJson(status)["waiting"][0]["oldestSeconds"], 86400);
}

// Tenants write the annotation.
TEST(StatusTest, TheRegistriesThatAreNamedAreFew) {
  WaitingSummary summary;
  for (int i = 0; i < 1'000; ++i) {
    kube::core::Pod pod = Waits("a", api::kClusterGate)
                              .Annotation(api::kInspectErrorAnnotation,
                                          "registry q" + std::to_string(i) + ".io: 401");
    summary.Add(pod, {}, kube::WallTime());
  }
  EXPECT_THAT(summary.registries(), SizeIs(WaitingSummary::kMaxRegistries + 1));
  EXPECT_EQ(summary.registries().at("others"), 1'000 - WaitingSummary::kMaxRegistries);
  EXPECT_EQ(RegistryIn("registry " + std::string(1'000, 'x')), "");
}

class ReadStatusTest : public ::testing::Test {
 protected:
  kube::Result<StatusEvidence> Read(const std::string& ns = "") {
    return kube::Run(io_, ReadStatus(api_, clock_, ns));
  }
  boost::asio::io_context io_{1};
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
};

TEST_F(ReadStatusTest, PodsWithAGateOfTheOperator) {
  api_.Create<kube::core::Pod>(Waits("a", api::kClusterGate));
  api_.Create<kube::core::Pod>(Waits("b", api::kLocalGate));
  api_.Create<kube::core::Pod>(
      Waits("both", api::kLocalGate).Gate(api::kClusterGate).Label(api::kClusterGate, api::kGated));
  // A copy of a gated pod that has no gate.
  api_.Create<kube::core::Pod>(
      MakePod("c").Namespace("shop").Label(api::kClusterGate, api::kGated));
  auto evidence = Read();
  ASSERT_THAT(evidence, kube::IsOk());
  EXPECT_EQ(evidence->waiting.pods(), 3u);
  EXPECT_TRUE(evidence->has_no_cluster_config);
  EXPECT_EQ(Read("bank")->waiting.pods(), 0u);
}

TEST_F(ReadStatusTest, WhatMayNotBeReadIsNamed) {
  for (const char* path : {"/deployments", "/clusterpodplacementconfigs", "/podplacementconfigs",
                           "/pods", "/mutatingwebhookconfigurations"})
    api_.FailNext(kube::Error::PermissionDenied("forbidden"), path, 9);
  auto evidence = Read();
  ASSERT_THAT(evidence, kube::IsOk());
  EXPECT_THAT(evidence->unread, SizeIs(5));
  EXPECT_THAT(Say(StatusOf(*evidence)), HasSubstr("not read  Deployments: forbidden\n"));
}

}  // namespace
}  // namespace plugin
