// SPDX-License-Identifier: Apache-2.0
#include "placement/ignored.h"

#include <gtest/gtest.h>

#include "api/names.h"
#include "kube/testing/make_pod.h"

namespace placement {
namespace {

using kube::MakePod;
using kube::core::Pod;

MakePod Gated() { return std::move(MakePod("web").Gate(api::kClusterGate).Image("a:1")); }

TEST(IgnoredTest, PodsThatTheWebhooksDoNotGateAreIgnored) {
  EXPECT_TRUE(IsIgnored(Gated().Node("node-1"), "ops"));
  EXPECT_TRUE(IsIgnored(Gated().Owner("apps/v1", "DaemonSet", "agent"), "ops"));
  EXPECT_TRUE(IsIgnored(Gated().NodeSelector("node-role.kubernetes.io/control-plane", ""), "ops"));
  EXPECT_TRUE(IsIgnored(Gated().NodeSelector("node-role.kubernetes.io/master", ""), "ops"));
  EXPECT_TRUE(IsIgnored(Gated().Label(api::kOperandLabel, "shard"), "ops"));
  EXPECT_TRUE(IsIgnored(Gated().Label(api::kExcludeLabel, ""), "ops"));
  EXPECT_TRUE(IsIgnored(Gated().Namespace("kube-system"), "ops"));
  EXPECT_TRUE(IsIgnored(Gated().Namespace("ops"), "ops"));
}

// Also after a webhook gated it: its author may change labels while it waits.
TEST(IgnoredTest, APodOptsOutByItsLabelOrByItsScheduler) {
  Pod pod = Gated().Label(api::kClusterGateLabel, api::kGated);
  EXPECT_FALSE(OptsOut(pod, {}));
  EXPECT_FALSE(OptsOut(pod, {"volcano"}));
  pod.mutable_spec()->set_scheduler_name("volcano");
  EXPECT_FALSE(OptsOut(pod, {}));
  EXPECT_FALSE(OptsOut(pod, {"volcano2", "volcan"}));
  EXPECT_TRUE(OptsOut(pod, {"yunikorn", "volcano"}));
  EXPECT_FALSE(IsIgnored(pod, "ops"));
  pod = Gated().Label(api::kClusterGateLabel, api::kGated).Label(api::kExcludeLabel, "false");
  EXPECT_TRUE(OptsOut(pod, {}));
  EXPECT_TRUE(IsIgnored(pod, "ops"));
}

// Everyone can write an owner.
TEST(IgnoredTest, AnOwnerDoesNotCountOnAPodThatAWebhookGated) {
  EXPECT_FALSE(IsIgnored(
      Gated().Owner("apps/v1", "DaemonSet", "agent").Label(api::kClusterGateLabel, api::kGated),
      "ops"));
}

TEST(IgnoredTest, OtherPodsAreNotIgnored) {
  EXPECT_FALSE(IsIgnored(Gated(), "ops"));
  EXPECT_FALSE(IsIgnored(Gated(), ""));
  EXPECT_FALSE(IsIgnored(Gated().Namespace("kubernetes"), "ops"));
  EXPECT_FALSE(IsIgnored(Gated().Owner("apps/v1", "ReplicaSet", "web-1"), "ops"));
  EXPECT_FALSE(IsIgnored(Gated().Owner("example.com/v1", "DaemonSet", "other"), "ops"));
  EXPECT_FALSE(IsIgnored(Gated().NodeSelector("kubernetes.io/arch", "arm64"), "ops"));
}

TEST(IgnoredTest, TheLabelShowsWhetherAWebhookGatedThePod) {
  EXPECT_FALSE(IsGatedByWebhook(Gated()));
  EXPECT_TRUE(IsGatedByWebhook(Gated().Label(api::kClusterGateLabel, api::kGated)));
  EXPECT_FALSE(
      IsGatedByWebhook(Gated().Gate(api::kLocalGate).Label(api::kLocalGateLabel, api::kGated)));
  Pod local = MakePod("web").Gate(api::kLocalGate);
  EXPECT_FALSE(IsGatedByWebhook(local));
  Pod gated = MakePod("web").Gate(api::kLocalGate).Label(api::kLocalGateLabel, api::kGated);
  EXPECT_TRUE(IsGatedByWebhook(gated));
}

}  // namespace
}  // namespace placement
