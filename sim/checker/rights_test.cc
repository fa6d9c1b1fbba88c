// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/rights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/checker/testing/run.h"

namespace sim::checker {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kOperatorNs[] = "openshift-multiarch-tuning-operator";
constexpr char kPolicyWebhook[] =
    "system:serviceaccount:openshift-multiarch-tuning-operator:pod-placement-policy-web-hook";
constexpr char kClusterWebhook[] =
    "system:serviceaccount:openshift-multiarch-tuning-operator:pod-placement-web-hook";
constexpr char kShardWebhook[] = "system:serviceaccount:shop:pod-placement-shard-web-hook";

Json Object(const std::string& ns, const std::string& name) {
  Json metadata = {{"name", name}};
  if (!ns.empty()) metadata["namespace"] = ns;
  return {{"metadata", metadata}};
}

struct Case {
  const char* user;
  const char* group;
  const char* plural;
  const char* ns;
  const char* name;
  const char* subresource;
  bool allowed;
};

TEST(Rights, WhoWritesWhatWhere) {
  const Case cases[] = {
      // A shard.
      {kShardOfShop, "", "events", "shop", "web.1", "", true},
      {kShardOfShop, "", "events", "bank", "web.1", "", false},
      {kShardOfShop, "coordination.k8s.io", "leases", "shop", "pod-placement-shard-controller", "",
       true},
      {kShardOfShop, "coordination.k8s.io", "leases", "shop", "pod-placement-announcements", "",
       false},
      {kShardOfShop, "coordination.k8s.io", "leases", "bank", "pod-placement-shard-controller", "",
       false},
      {kShardOfShop, "", "secrets", "shop", "anything", "", false},
      {kShardOfShop, "multiarch.openshift.io", "podplacementconfigs", "shop", "arm", "status",
       false},
      // Webhooks.
      {kShardWebhook, "", "events", "shop", "web.1", "", false},
      {kClusterWebhook, "", "events", "shop", "web.1", "", false},
      {kPolicyWebhook, "coordination.k8s.io", "leases", kOperatorNs,
       "pod-placement-policy-web-hook-7d9f-x", "", true},
      {kPolicyWebhook, "coordination.k8s.io", "leases", kOperatorNs, "multiarch-tuning-operator",
       "", false},
      // The cluster controller.
      {kController, "", "events", "shop", "web.1", "", true},
      {kController, "coordination.k8s.io", "leases", kOperatorNs, "pod-placement-controller", "",
       true},
      {kController, "batch", "jobs", "shop", "sum", "", false},
      {kController, "multiarch.openshift.io", "podplacementconfigs", "shop", "arm", "status",
       false},
      // The operator.
      {kOperatorUser, "", "services", "shop", "pod-placement-shard-web-hook", "", true},
      {kOperatorUser, "", "services", "shop", "shop-front", "", false},
      {kOperatorUser, "", "services", kOperatorNs, "pod-placement-web-hook", "", true},
      {kOperatorUser, "", "services", kOperatorNs, "pod-placement-ephemeral-containers-web-hook",
       "", true},
      {kOperatorUser, "admissionregistration.k8s.io", "validatingwebhookconfigurations", "",
       "multiarch-ephemeral-containers", "", true},
      {kOperatorUser, "", "secrets", kOperatorNs, "pod-placement-ca", "", true},
      {kOperatorUser, "", "secrets", "shop", "pull-secret", "", false},
      {kOperatorUser, "admissionregistration.k8s.io", "mutatingwebhookconfigurations", "",
       "pod-placement-shard-shop", "", true},
      {kOperatorUser, "admissionregistration.k8s.io", "mutatingwebhookconfigurations", "",
       "istio-sidecar-injector", "", false},
      {kOperatorUser, "", "namespaces", "", "shop", "", false},
      {kOperatorUser, "", "pods", "shop", "new", "", false},
      {kUser, "", "secrets", "shop", "pull-secret", "", true},
  };
  for (const Case& row : cases) {
    TestRun run;
    Json object = Object(row.ns, row.name);
    run.Write(row.user, row.group, row.plural, object, row.subresource);
    EXPECT_EQ(run.Found().empty(), row.allowed)
        << row.user << " " << row.plural << " " << row.ns << "/" << row.name << "\n"
        << run.Described();
  }
}

TEST(Rights, ShardInAnotherNamespace) {
  TestRun run;
  run.SetNamespace("bank", Json::object());
  Json pod = Gated(Pod("web"), "multiarch.openshift.io/local-scheduling-gate");
  pod["metadata"]["namespace"] = "bank";
  pod = run.WritePod(kUser, pod);
  run.WritePod(kShardOfShop, WithoutGate(pod, "multiarch.openshift.io/local-scheduling-gate"));
  EXPECT_THAT(run.Found(), ElementsAre("I6")) << run.Described();
}

TEST(Rights, JobsWhileTheRoleIsBound) {
  TestRun run;
  run.Write(kUser, "batch", "jobs", Object("shop", "sum"));
  run.Write(kOperatorUser, "rbac.authorization.k8s.io", "clusterrolebindings",
            Object("", "pod-placement-suspended-jobs"));
  run.Write(kController, "batch", "jobs", Object("shop", "sum"));
  EXPECT_THAT(run.Found(), IsEmpty()) << run.Described();
  run.Delete(kOperatorUser, "rbac.authorization.k8s.io", "clusterrolebindings", "",
             "pod-placement-suspended-jobs");
  run.Advance(std::chrono::minutes(1));
  run.Write(kController, "batch", "jobs", Object("shop", "sum"));
  EXPECT_THAT(run.Found(), ElementsAre("I6")) << run.Described();
}

TEST(Rights, OperatorLeavesTheSpecOfConfigurations) {
  TestRun run;
  Json object = run.Write(kUser, "multiarch.openshift.io", "clusterpodplacementconfigs",
                          Object("", "cluster"));
  object["metadata"]["finalizers"] = Json::array({"finalizers.multiarch.openshift.io/x"});
  object = run.Write(kOperatorUser, "multiarch.openshift.io", "clusterpodplacementconfigs", object);
  object["status"] = {{"observedGeneration", 1}};
  object = run.Write(kOperatorUser, "multiarch.openshift.io", "clusterpodplacementconfigs", object,
                     "status");
  EXPECT_THAT(run.Found(), IsEmpty()) << run.Described();
  object["spec"] = {{"logVerbosity", "Debug"}};
  run.Write(kOperatorUser, "multiarch.openshift.io", "clusterpodplacementconfigs", object);
  EXPECT_THAT(run.Found(), ElementsAre("I6")) << run.Described();
}

TEST(Rights, OneAuthorityForEachNamespace) {
  TestRun run;
  auto secret = [&](const std::string& ns, const std::string& authority) {
    Json object = Object(ns, "pod-placement-shard-web-hook");
    object["data"] = {{"ca.crt", authority}};
    run.Write(kOperatorUser, "", "secrets", object);
  };
  secret("shop", "b25l");
  secret("bank", "dHdv");
  secret("shop", "dGhyZWU=");
  EXPECT_THAT(run.Found(), IsEmpty()) << run.Described();
  secret("mail", "dHdv");
  EXPECT_THAT(run.Found(), ElementsAre("I6")) << run.Described();
}

}  // namespace
}  // namespace sim::checker
