// SPDX-License-Identifier: Apache-2.0
#include "exec-format/operator/monitor_feature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "exec-format/e_no_exec_event.h"
#include "exec-format/names.h"
#include "exec-format/operator/monitor_metrics.h"
#include "exec-format/operator/monitor_status.h"
#include "kube/base/error.h"
#include "kube/metrics/metrics.h"
#include "kube/types/kinds.h"
#include "kube/types/unstructured.h"
#include "operator/testing/harness.h"

namespace exec_format {
namespace {

using kube::Json;
using kube::ObjectKey;
using operator_::Harness;
using namespace std::chrono_literals;

constexpr kube::Resource kENoExecEvents = kube::ResourceOf<ENoExecEvent>::value;

class MonitorFeatureTest : public testing::Test {
 protected:
  MonitorFeatureTest() {
    h_.features.push_back(NewMonitorFeature(monitor_metrics_));
    h_.StartOperator();
  }
  ~MonitorFeatureTest() override { h_.StopOperator(); }

  void SetPlugin(bool enabled) {
    Json config = *h_.api.GetJson(Harness::kClusterConfigs, {"", "cluster"});
    config["spec"]["plugins"]["execFormatErrorMonitor"] = {{"enabled", enabled}};
    h_.api.UpdateJson(Harness::kClusterConfigs, config);
  }
  bool Deployed() { return h_.Exists(kube::kDaemonSets, kKey); }
  std::string Condition() { return h_.ClusterCondition(kMonitorAvailable); }
  bool Removed() {
    for (const kube::Resource& resource :
         {kube::kDaemonSets, kube::kServiceAccounts, kube::kNetworkPolicies}) {
      if (h_.Exists(resource, kKey)) return false;
    }
    return !h_.Exists(kube::kNamespaces, {"", kKey.ns}) &&
           !h_.Exists(kube::kRoleBindings, {"ops", "exec-format-error-findings"});
  }
  // As the DaemonSet controller.
  void RollOut(int nodes, int available) {
    Json set = *h_.api.GetJson(kube::kDaemonSets, kKey);
    set["status"] = {{"observedGeneration", set["metadata"]["generation"]},
                     {"desiredNumberScheduled", nodes},
                     {"updatedNumberScheduled", nodes},
                     {"numberAvailable", available}};
    h_.api.UpdateJson(kube::kDaemonSets, set);
  }
  bool BringUp() {
    if (!h_.BringUpCluster()) return false;
    SetPlugin(true);
    return h_.Await([&] { return Deployed(); });
  }

  const ObjectKey kKey{std::string(kMonitorNamespace), std::string(kMonitorName)};
  kube::Metrics metrics_;
  MonitorMetrics monitor_metrics_{metrics_};
  Harness h_;
};

TEST_F(MonitorFeatureTest, OffByDefault) {
  ASSERT_TRUE(h_.BringUpCluster());
  h_.Pass(20s);
  EXPECT_TRUE(Removed());
  EXPECT_EQ(Condition(), "none");
  EXPECT_EQ(h_.api.CountCalls(kKey.ns), 0);
}

TEST_F(MonitorFeatureTest, IsDeployedAndReported) {
  ASSERT_TRUE(BringUp());
  EXPECT_TRUE(h_.Exists(kube::kNetworkPolicies, kKey));
  RollOut(3, 3);
  EXPECT_TRUE(h_.Await([&] { return Condition() == "True OnAllNodes"; }));
  // At rest: two reads a minute, and no write.
  h_.Pass(1min);
  int writes = h_.api.CountWrites();
  int calls = h_.api.CountCalls(kKey.ns);
  h_.Pass(10min);
  EXPECT_EQ(h_.api.CountWrites(), writes);
  EXPECT_LE(h_.api.CountCalls(kKey.ns), calls + 22);
}

TEST_F(MonitorFeatureTest, SaysWhyNodesAreNotWatched) {
  ASSERT_TRUE(BringUp());
  Json pod;
  pod["metadata"] = {{"name", "m-1"},
                     {"namespace", kKey.ns},
                     {"uid", "1"},
                     {"labels",
                      {{"app.kubernetes.io/name", kKey.name},
                       {"app.kubernetes.io/managed-by", "multiarch-tuning-operator"}}}};
  pod["spec"]["nodeName"] = "node-a";
  h_.api.CreateJson(kube::kPods, pod);
  Json event;
  event["metadata"] = {{"name", "e"}, {"namespace", kKey.ns}};
  event["reason"] = std::string(kReasonNotMonitored);
  event["message"] = "the kernel has no BTF";
  event["involvedObject"] = {
      {"kind", "Pod"},
      {"uid", kube::StringAt(*h_.api.GetJson(kube::kPods, {kKey.ns, "m-1"}), "metadata.uid")}};
  h_.api.CreateJson(kube::kEvents, event);
  RollOut(2, 1);
  EXPECT_TRUE(h_.Await([&] { return Condition() == "False NotOnAllNodes"; }));
  Json config = *h_.api.GetJson(Harness::kClusterConfigs, {"", "cluster"});
  EXPECT_THAT(kube::DumpJson(config["status"]),
              testing::HasSubstr("seen on 1 of 2 nodes: node-a: the kernel has no BTF"));
  EXPECT_EQ(monitor_metrics_.missing.Value(), 1);
  // The kernel was updated.
  RollOut(2, 2);
  EXPECT_TRUE(h_.Await([&] { return Condition() == "True OnAllNodes"; }));
  EXPECT_EQ(monitor_metrics_.missing.Value(), 0);
}

TEST_F(MonitorFeatureTest, NothingIsLeftWithoutThePlugin) {
  ASSERT_TRUE(BringUp());
  ENoExecEvent late;
  late.mutable_metadata()->set_name("late");
  late.mutable_metadata()->set_namespace_("ops");
  h_.api.Create(late);
  SetPlugin(false);
  EXPECT_TRUE(h_.Await([&] { return Removed() && Condition() == "none"; }));
  EXPECT_TRUE(h_.Await([&] { return !h_.Exists(kENoExecEvents, {"ops", "late"}); }));
  h_.Pass(30s);
  int writes = h_.api.CountWrites();
  h_.Pass(2min);
  EXPECT_EQ(h_.api.CountWrites(), writes);
}

// The watch shows neither the DaemonSet nor the namespace.
TEST_F(MonitorFeatureTest, WhatIsDeletedIsCreatedAgain) {
  ASSERT_TRUE(BringUp());
  RollOut(1, 1);
  h_.api.DeleteJson(kube::kDaemonSets, kKey);
  h_.Pass(75s);
  EXPECT_TRUE(Deployed());
  h_.api.DeleteJson(kube::kNamespaces, {"", kKey.ns});
  h_.Pass(75s);
  EXPECT_TRUE(h_.Exists(kube::kNamespaces, {"", kKey.ns}));
}

TEST_F(MonitorFeatureTest, WaitsForANamespaceThatIsBeingDeleted) {
  ASSERT_TRUE(BringUp());
  SetPlugin(false);
  ASSERT_TRUE(h_.Await([&] { return Removed(); }));
  // As a namespace controller that is slow.
  const ObjectKey key{"", kKey.ns};
  Json ns;
  ns["metadata"] = {{"name", kKey.ns}, {"finalizers", {"slow"}}};
  h_.api.CreateJson(kube::kNamespaces, ns);
  h_.api.DeleteJson(kube::kNamespaces, key);
  SetPlugin(true);
  h_.Pass(30s);
  EXPECT_FALSE(Deployed());
  ns = *h_.api.GetJson(kube::kNamespaces, key);
  ns["metadata"].erase("finalizers");
  h_.api.UpdateJson(kube::kNamespaces, ns);
  EXPECT_TRUE(h_.Await([&] { return Deployed(); }));
}

TEST_F(MonitorFeatureTest, TheConfigIsGoneWhenTheMonitorsAre) {
  ASSERT_TRUE(BringUp());
  h_.api.DeleteJson(Harness::kClusterConfigs, {"", "cluster"});
  ASSERT_TRUE(h_.Await([&] { return !h_.Exists(Harness::kClusterConfigs, {"", "cluster"}); }));
  EXPECT_TRUE(Removed());
}

TEST_F(MonitorFeatureTest, AnOldClusterRoleIsReportedAndStopsNothingElse) {
  h_.api.FailNext(kube::Error::PermissionDenied("may not create namespaces"), kKey.ns, 1'000'000);
  h_.api.FailNext(kube::Error::PermissionDenied("may not delete"), "enoexecevents", 1'000'000);
  ASSERT_TRUE(h_.BringUpCluster());
  SetPlugin(true);
  EXPECT_TRUE(h_.Await([&] { return Condition().starts_with("False"); }));
  h_.api.DeleteJson(Harness::kClusterConfigs, {"", "cluster"});
  EXPECT_TRUE(h_.Await([&] { return !h_.Exists(Harness::kClusterConfigs, {"", "cluster"}); }));
}

}  // namespace
}  // namespace exec_format
