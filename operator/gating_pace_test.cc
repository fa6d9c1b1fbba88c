// SPDX-License-Identifier: Apache-2.0
// How often the operator that leads rewrites what gates the pods of all namespaces, whatever owners
// of namespaces write.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "api/names.h"
#include "kube/types/coordination.pb.h"
#include "kube/types/kinds.h"
#include "kube/types/unstructured.h"
#include "operator/objects/webhook_configurations.h"
#include "operator/testing/harness.h"
#include "watches/announcements.h"

namespace operator_ {
namespace {

using kube::Json;
using kube::coordination::Lease;
using namespace std::chrono_literals;

const kube::ObjectKey kConfiguration{"", std::string(api::kMutatingWebhookConfigurationName)};
// The limit for one object in a minute: docs/reference.md, Limits.
constexpr int kMostInAMinute = 70;

class GatingPaceTest : public testing::Test {
 protected:
  void SetUp() override {
    h_.StartOperator();
    ASSERT_TRUE(h_.BringUpCluster());
  }

  // Whether `ns` has an announced preference, as its owner can write it.
  void SetAnnounced(const std::string& ns, bool announced) {
    Lease lease;
    lease.mutable_metadata()->set_namespace_(ns);
    lease.mutable_metadata()->set_name(std::string(api::kAnnouncementsName));
    bool exists = h_.api.Get<Lease>(kube::KeyOf(lease)).has_value();
    if (announced == exists) return;
    if (!announced) return h_.api.Delete<Lease>(kube::KeyOf(lease));
    auto& annotations = *lease.mutable_metadata()->mutable_annotations();
    annotations[std::string(api::kPreferencesAnnouncedAnnotation)] = "true";
    annotations[watches::AnnotationKey("uid")] = "1 2 a";
    h_.api.Create(lease);
  }
  int Rewrites() {
    return h_.api.CountCalls("PATCH " +
                             kube::kMutatingWebhookConfigurations.Path("", kConfiguration.name));
  }
  // Where pods that require an architecture are gated too.
  std::set<std::string> PreferringNamespaces() {
    Json object = *h_.api.GetJson(kube::kMutatingWebhookConfigurations, kConfiguration);
    return *PreferringNamespacesOf(object);
  }
  bool Gated(const std::string& ns) { return PreferringNamespaces().contains(ns); }

  Harness h_;
};

TEST_F(GatingPaceTest, ALoopOfAnnouncementsIsOneRewrite) {
  int before = Rewrites();
  int ungated = 0;
  for (int i = 0; i < 1'200; ++i) {
    SetAnnounced("shop", i % 2 == 0);
    h_.Pass(100ms);
    if (i >= 10 && !Gated("shop")) ++ungated;
  }
  EXPECT_EQ(ungated, 0) << "meanwhile its pods are gated";
  EXPECT_EQ(Rewrites() - before, 1);
}

TEST_F(GatingPaceTest, ALoopOfConfigsIsOneRewrite) {
  int before = Rewrites();
  for (int i = 0; i < 30; ++i) {
    if (i % 2 == 0) {
      h_.CreateConfig("shop", "a", 1);
    } else {
      h_.DeleteConfig("shop", "a");
    }
    h_.Pass(1s);
  }
  EXPECT_EQ(Rewrites() - before, 1);
}

// A rewrite has what all of them wait for, so no namespace waits for the others.
TEST_F(GatingPaceTest, ManyNamespacesInALoopDelayNoOther) {
  unsigned next = 1;
  auto disturb = [&] {
    for (int i = 0; i < 10; ++i) {
      next = next * 1'103'515'245 + 12'345;
      SetAnnounced("loop-" + std::to_string(next / 65'536 % 300), next / 16'777'216 % 2 == 0);
    }
    h_.Pass(100ms);
  };
  int before = Rewrites();
  for (int i = 0; i < 300; ++i) disturb();
  SetAnnounced("shop", true);
  int steps = 0;
  for (; !Gated("shop") && steps < 100; ++steps) disturb();
  // The validating webhook waits for it for 2 s, and needs 0.25 s after it.
  EXPECT_LE(steps, 15);
  for (int i = 300 + steps; i < 600; ++i) disturb();
  EXPECT_LE(Rewrites() - before, kMostInAMinute);
}

// Nor any other reason, here an administrator's.
TEST_F(GatingPaceTest, TheObjectIsWrittenSoOftenInAll) {
  int before = Rewrites();
  for (int i = 0; i < 600; ++i) {
    h_.SetExcludedSchedulers({"scheduler-" + std::to_string(i)});
    h_.Pass(100ms);
  }
  EXPECT_LE(Rewrites() - before, kMostInAMinute);
  EXPECT_GE(Rewrites() - before, kMostInAMinute / 2);
  // The last change is not lost.
  h_.Pass(3s);
  Json object = *h_.api.GetJson(kube::kMutatingWebhookConfigurations, kConfiguration);
  EXPECT_NE(kube::DumpJson(object).find("scheduler-599"), std::string::npos);
}

TEST_F(GatingPaceTest, ANamespaceWithoutAReasonIsRemovedLater) {
  SetAnnounced("shop", true);
  ASSERT_TRUE(h_.Await([&] { return Gated("shop"); }));
  SetAnnounced("shop", false);
  h_.Pass(119s);
  EXPECT_TRUE(Gated("shop"));
  h_.Pass(32s);
  EXPECT_FALSE(Gated("shop"));
}

}  // namespace
}  // namespace operator_
