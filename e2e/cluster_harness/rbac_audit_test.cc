// SPDX-License-Identifier: Apache-2.0
#include "e2e/cluster_harness/rbac_audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace e2e {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kOperator = "multiarch-tuning-operator";
constexpr const char* kController = "pod-placement-controller";
constexpr const char* kShard = "pod-placement-shard-controller";

Json Rule(const std::string& resource, std::vector<std::string> verbs,
          std::vector<std::string> names = {}) {
  Json rule = {{"apiGroups", {""}}, {"resources", {resource}}, {"verbs", std::move(verbs)}};
  if (!names.empty()) rule["resourceNames"] = std::move(names);
  return rule;
}

Json Event(const std::string& user, const std::string& verb, const std::string& resource,
           const std::string& ns = "", const std::string& name = "", int code = 200) {
  return {{"user", {{"username", "system:serviceaccount:" + user}}},
          {"verb", verb},
          {"objectRef", {{"resource", resource}, {"namespace", ns}, {"name", name}}},
          {"responseStatus", {{"code", code}}}};
}

class RbacAuditTest : public ::testing::Test {
 protected:
  // Binds a role with the name of the ServiceAccount to it; in all namespaces if `ns` is empty.
  void Give(const std::string& user_ns, const std::string& user, const std::string& ns,
            Json rules) {
    std::string prefix = ns.empty() ? "Cluster" : "";
    Json metadata = {{"name", user}};
    if (!ns.empty()) metadata["namespace"] = ns;
    audit_.AddRole(
        {{"kind", prefix + "Role"}, {"metadata", metadata}, {"rules", std::move(rules)}});
    Json subject = {{"kind", "ServiceAccount"}, {"namespace", user_ns}, {"name", user}};
    audit_.AddBinding({{"kind", prefix + "RoleBinding"},
                       {"metadata", metadata},
                       {"roleRef", {{"kind", prefix + "Role"}, {"name", user}}},
                       {"subjects", Json::array({subject})}});
  }

  RbacAudit audit_{"ops"};
};

TEST_F(RbacAuditTest, ListsMissingAndUnusedRights) {
  Give("ops", kController, "", Json::array({Rule("secrets", {"get", "list"})}));
  audit_.AddRequest(Event("ops:pod-placement-controller", "get", "secrets", "shop", "pull"));
  audit_.AddRequest(Event("ops:pod-placement-controller", "patch", "events", "shop", "e"));
  audit_.AddRequest(Event("ops:pod-placement-controller", "patch", "events", "shop", "e"));
  EXPECT_THAT(audit_.Missing(), ElementsAre("pod-placement-controller: patch events in namespace "
                                            "(another), 2 times, such as shop/e"));
  EXPECT_THAT(
      audit_.Unused({}),
      ElementsAre(
          "pod-placement-controller: list secrets, by ClusterRole pod-placement-controller"));
  EXPECT_THAT(audit_.Unused({{"pod-placement-controller: list secrets", "for the test"}}),
              IsEmpty());
}

TEST_F(RbacAuditTest, OtherUsersDoNotCount) {
  audit_.AddRequest(Event("shop:default", "get", "secrets", "shop", "pull"));
  audit_.AddRequest({{"user", {{"username", "admin"}}},
                     {"verb", "get"},
                     {"objectRef", {{"resource", "secrets"}}}});
  EXPECT_THAT(audit_.Missing(), IsEmpty());
  EXPECT_EQ(audit_.requests(), 0u);
}

TEST_F(RbacAuditTest, ARequestUsesTheNarrowestRight) {
  Give("ops", kOperator, "", Json::array({Rule("leases", {"create", "get"})}));
  Give("ops", kOperator, "ops",
       Json::array({Rule("leases", {"get"}, {"own"}), Rule("leases", {"get"})}));
  audit_.AddRequest(Event("ops:multiarch-tuning-operator", "get", "leases", "ops", "own"));
  EXPECT_THAT(
      audit_.Unused({}),
      ElementsAre(
          "multiarch-tuning-operator: create leases, by ClusterRole multiarch-tuning-operator",
          "multiarch-tuning-operator: get leases, by ClusterRole multiarch-tuning-operator",
          "multiarch-tuning-operator: get leases, by Role multiarch-tuning-operator"));
}

TEST_F(RbacAuditTest, AnApplyThatCreatesNeedsBothRights) {
  Give("ops", kOperator, "",
       Json::array({Rule("services", {"create"}), Rule("services", {"patch", "delete"}, {"web"})}));
  audit_.AddRequest(
      Event("ops:multiarch-tuning-operator", "patch", "services", "shop", "web", 201));
  EXPECT_THAT(audit_.Missing(), IsEmpty());
  EXPECT_THAT(audit_.Unused({}), ElementsAre("multiarch-tuning-operator: delete services web, by "
                                             "ClusterRole multiarch-tuning-operator"));
}

TEST_F(RbacAuditTest, ShardsCountAsOneAndHaveRightsInTheirNamespaceOnly) {
  for (const char* ns : {"shop", "farm"})
    Give(ns, kShard, ns, Json::array({Rule("pods", {"get", "list"})}));
  audit_.AddRequest(Event("shop:pod-placement-shard-controller", "get", "pods", "shop", "web"));
  audit_.AddRequest(Event("farm:pod-placement-shard-controller", "list", "pods", "farm"));
  EXPECT_THAT(audit_.Missing(), IsEmpty());
  EXPECT_THAT(audit_.Unused({}), IsEmpty());
  audit_.AddRequest(Event("farm:pod-placement-shard-controller", "list", "pods", "shop"));
  EXPECT_THAT(audit_.Missing(), ElementsAre("pod-placement-shard-controller: list pods in "
                                            "namespace (another), 1 times, such as shop/"));
}

TEST_F(RbacAuditTest, AWatchUsesTheRightToList) {
  Give("ops", kController, "", Json::array({Rule("pods", {"watch", "list", "get"})}));
  audit_.AddRequest(Event("ops:pod-placement-controller", "watch", "pods"));
  EXPECT_THAT(
      audit_.Unused({}),
      ElementsAre("pod-placement-controller: get pods, by ClusterRole pod-placement-controller"));
}

TEST_F(RbacAuditTest, TheOperatorUsesTheRightsThatItGrants) {
  Give("ops", kOperator, "",
       Json::array({Rule("events", {"create", "patch"}), Rule("roles", {"patch"})}));
  Give("shop", kShard, "shop", Json::array({Rule("events", {"create"})}));
  audit_.AddRequest(Event("ops:multiarch-tuning-operator", "patch", "roles", "shop", kShard));
  audit_.AddRequest(
      Event("shop:pod-placement-shard-controller", "create", "events", "shop", "e", 201));
  EXPECT_THAT(
      audit_.Unused({}),
      ElementsAre(
          "multiarch-tuning-operator: patch events, by ClusterRole multiarch-tuning-operator"));
}

TEST_F(RbacAuditTest, MergedAuditsCountAsOne) {
  Give("ops", kController, "", Json::array({Rule("secrets", {"get", "list", "watch"})}));
  audit_.AddRequest(Event("ops:pod-placement-controller", "get", "secrets", "shop", "pull"));
  audit_.AddRequest(Event("ops:pod-placement-controller", "patch", "events", "shop", "e"));
  Json first = audit_.ToJson();

  audit_ = RbacAudit("ops");
  Give("ops", kController, "", Json::array({Rule("secrets", {"get", "list", "watch"})}));
  audit_.AddRequest(Event("ops:pod-placement-controller", "list", "secrets", "shop"));
  audit_.AddRequest(Event("ops:pod-placement-controller", "patch", "events", "shop", "e"));
  audit_.Merge(first);

  EXPECT_EQ(audit_.requests(), 4u);
  EXPECT_THAT(audit_.users(), ElementsAre("pod-placement-controller"));
  EXPECT_THAT(audit_.Missing(), ElementsAre("pod-placement-controller: patch events in namespace "
                                            "(another), 2 times, such as shop/e"));
  EXPECT_THAT(
      audit_.Unused({}),
      ElementsAre(
          "pod-placement-controller: watch secrets, by ClusterRole pod-placement-controller"));
}

TEST_F(RbacAuditTest, AMergedAuditHasTheRolesOfBoth) {
  Give("shop", kShard, "shop", Json::array({Rule("pods", {"get"})}));
  Json shop = audit_.ToJson();
  audit_ = RbacAudit("ops");
  Give("ops", kOperator, "", Json::array({Rule("leases", {"get"}, {"own"})}));
  audit_.Merge(shop);
  EXPECT_THAT(audit_.Unused({}),
              ElementsAre("multiarch-tuning-operator: get leases own, by ClusterRole "
                          "multiarch-tuning-operator",
                          "pod-placement-shard-controller: get pods, by Role "
                          "pod-placement-shard-controller"));
}

}  // namespace
}  // namespace e2e
