// SPDX-License-Identifier: Apache-2.0
#include "fleet/standalone/membership/cluster_state.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "fleet/api/managed_cluster_status.h"
#include "fleet/api/reading.h"
#include "fleet/testing/condition_text.h"
#include "fleet/testing/make_object.h"

namespace fleet {
namespace {

using kube::Json;
using namespace std::chrono_literals;

constexpr kube::WallTime kNow{};
constexpr char kTime[] = "1970-01-01T00:00:00Z";

// A cluster of a set, accepted, with the finalizer; `available`: the status of the condition.
Json Cluster(const std::string& available = "", const std::string& taints = "[]") {
  MakeObject cluster = MakeManagedCluster("c1")
                           .Label(kClusterSetLabel, "east")
                           .Finalizer(kMembershipFinalizer)
                           .Set("/metadata/resourceVersion", "7")
                           .Set("/spec/taints", kube::MustParseJson(taints));
  if (!available.empty()) cluster.Condition(kClusterAvailable, available);
  return cluster;
}

std::string Taint(const std::string& name) {
  return R"({"key": "cluster.open-cluster-management.io/)" + name +
         R"(", "effect": "NoSelect", "timeAdded": "1970-01-01T00:00:00Z"})";
}

// The condition of a status patch, "STATUS REASON"; "" if there is no patch or no such condition.
std::string Condition(const std::optional<Json>& patch, const std::string& type) {
  return patch ? ConditionText(*patch, type) : "";
}

TEST(ObjectPatch, TaintsFollowAvailable) {
  const std::string unreachable = Taint("unreachable");
  const std::string unavailable = Taint("unavailable");
  const std::string gpu =
      R"({"key": "gpu", "effect": "NoSelect", "timeAdded": "1970-01-01T00:00:00Z"})";
  struct Row {
    const char* available;
    std::string before;
    std::string want;  // "": no patch
  };
  const Row rows[] = {
      {"", "[]", "[" + unreachable + "]"},
      {"Unknown", "[]", "[" + unreachable + "]"},
      {"Unknown", "[" + unreachable + "]", ""},
      {"Unknown", "[" + unavailable + "," + gpu + "]", "[" + gpu + "," + unreachable + "]"},
      {"False", "[]", "[" + unavailable + "]"},
      {"False", "[" + unavailable + "," + gpu + "]", ""},
      {"False", "[" + unreachable + "]", "[" + unavailable + "]"},
      {"True", "[]", ""},
      {"True", "[" + gpu + "]", ""},
      {"True", "[" + unreachable + "," + gpu + "," + unavailable + "]", "[" + gpu + "]"},
      // A taint with another effect: the key belongs to the hub.
      {"Unknown", R"([{"key": "cluster.open-cluster-management.io/unreachable",
                       "effect": "PreferNoSelect", "timeAdded": "1970-01-01T00:00:00Z"}])",
       R"([{"key": "cluster.open-cluster-management.io/unreachable",
            "effect": "PreferNoSelect", "timeAdded": "1970-01-01T00:00:00Z"},)" +
           unreachable + "]"},
  };
  for (const Row& row : rows) {
    std::optional<Json> patch = ObjectPatch(Cluster(row.available, row.before), true, kNow);
    ASSERT_EQ(patch.has_value(), !row.want.empty()) << row.available << row.before;
    if (!patch) continue;
    EXPECT_EQ((*patch)["spec"]["taints"], kube::MustParseJson(row.want))
        << row.available << row.before;
    EXPECT_EQ((*patch)["metadata"], kube::MustParseJson(R"({"resourceVersion": "7"})"));
  }
}

TEST(ObjectPatch, AddsMissingTimes) {
  const char kTaints[] = R"([{"key": "a", "effect": "NoSelect"},
      {"key": "b", "effect": "PreferNoSelect", "timeAdded": null},
      {"key": "c", "effect": "NoSelectIfNew", "timeAdded": "2020-01-01T00:00:00Z"}, 7])";
  std::optional<Json> patch = ObjectPatch(Cluster("True", kTaints), true, kNow);
  ASSERT_TRUE(patch);
  const Json& taints = (*patch)["spec"]["taints"];
  ASSERT_EQ(taints.size(), 4u);
  EXPECT_EQ(taints[0]["timeAdded"], kTime);
  EXPECT_EQ(taints[1]["timeAdded"], kTime);
  EXPECT_EQ(taints[2]["timeAdded"], "2020-01-01T00:00:00Z");
}

TEST(ObjectPatch, ClustersWithoutASetGetTheDefaultOne) {
  for (const char* labels :
       {"{}", R"({"zone": "a"})", R"({"cluster.open-cluster-management.io/clusterset": ""})"}) {
    Json cluster = Cluster("True");
    cluster["metadata"]["labels"] = kube::MustParseJson(labels);
    std::optional<Json> patch = ObjectPatch(cluster, true, kNow);
    ASSERT_TRUE(patch) << labels;
    EXPECT_EQ(
        (*patch)["metadata"]["labels"],
        kube::MustParseJson(R"({"cluster.open-cluster-management.io/clusterset": "default"})"));
    EXPECT_FALSE(patch->contains("spec"));
  }
  Json cluster = Cluster("True");
  cluster["metadata"].erase("labels");
  EXPECT_TRUE(ObjectPatch(cluster, true, kNow));
}

TEST(ObjectPatch, TheFinalizerComesWithAccess) {
  Json cluster = Cluster("True");
  cluster["metadata"]["finalizers"] = Json::array({"other"});
  EXPECT_FALSE(ObjectPatch(cluster, false, kNow));
  std::optional<Json> patch = ObjectPatch(cluster, true, kNow);
  ASSERT_TRUE(patch);
  EXPECT_EQ((*patch)["metadata"]["finalizers"],
            Json::array({"other", std::string(kMembershipFinalizer)}));
  EXPECT_EQ((*patch)["metadata"]["resourceVersion"], "7");

  cluster["metadata"]["finalizers"] = (*patch)["metadata"]["finalizers"];
  EXPECT_TRUE(HasFinalizer(cluster, kMembershipFinalizer));
  Json without = WithoutFinalizer(cluster, kMembershipFinalizer);
  EXPECT_EQ(without["metadata"]["finalizers"], Json::array({"other"}));
  EXPECT_EQ(without["metadata"]["resourceVersion"], "7");
}

TEST(StatusPatch, AcceptedRefusedAndDenied) {
  auto accepted = [](const Json& cluster, const MemberFacts& facts) {
    return Condition(StatusPatch(cluster, facts, kNow), "HubAcceptedManagedCluster");
  };
  Json cluster = Cluster();
  EXPECT_EQ(accepted(cluster, {}), "") << "nothing is known yet";
  EXPECT_EQ(accepted(cluster, {.access = true}), "True HubClusterAdminAccepted");
  EXPECT_EQ(accepted(cluster, {.refused = "its name"}), "False NamespaceRefused");

  // Only a cluster that was accepted before gets the condition that it is not accepted.
  cluster["spec"]["hubAcceptsClient"] = false;
  EXPECT_FALSE(StatusPatch(cluster, {.silent = true}, kNow));
  cluster["status"]["conditions"] =
      kube::MustParseJson(R"([{"type": "HubAcceptedManagedCluster", "status": "True"}])");
  EXPECT_EQ(accepted(cluster, {}), "False HubClusterAdminDenied");
}

TEST(StatusPatch, JoinedWhenTheAgentWasSeen) {
  auto joined = [](const Json& cluster, const MemberFacts& facts) {
    return Condition(StatusPatch(cluster, facts, kNow), "ManagedClusterJoined");
  };
  EXPECT_EQ(joined(Cluster(), {.access = true}), "");
  EXPECT_EQ(joined(Cluster(), {.access = true, .joined = true}), "True ManagedClusterJoined");
  EXPECT_EQ(joined(Cluster("False"), {.access = true}), "True ManagedClusterJoined");
  EXPECT_EQ(joined(Cluster("Unknown"), {.access = true}), "") << "the hub wrote that";
  Json denied = Cluster("True");
  denied["spec"]["hubAcceptsClient"] = false;
  EXPECT_EQ(joined(denied, {.joined = true}), "");
}

TEST(StatusPatch, SilenceIsUnknown) {
  auto available = [](const Json& cluster, const MemberFacts& facts) {
    return Condition(StatusPatch(cluster, facts, kNow), "ManagedClusterConditionAvailable");
  };
  const std::string kUnknown = "Unknown ManagedClusterLeaseUpdateStopped";
  EXPECT_EQ(available(Cluster("True"), {.access = true, .silent = true}), kUnknown);
  EXPECT_EQ(available(Cluster("False"), {.access = true, .silent = true}), kUnknown);
  EXPECT_EQ(available(Cluster(), {.access = true, .silent = true}), kUnknown);
  EXPECT_EQ(available(Cluster("True"), {.silent = true}), kUnknown) << "access was taken";
  EXPECT_EQ(available(Cluster(), {.silent = true}), "") << "it never had any";
  EXPECT_EQ(available(Cluster("True"), {.access = true}).substr(0, 4), "True");
}

// A list beyond the schema's bound is refused, whoever writes it.
TEST(StatusPatch, AListThatAMemberHasFilledDoesNotStopIt) {
  Json cluster = Cluster();
  Json& conditions = cluster["status"]["conditions"];
  conditions = Json::array();
  auto add = [&](const std::string& type) {
    conditions.push_back({{"type", type}, {"status", "True"}});
  };
  for (int i = 0; i < 31; ++i) add("Junk" + std::to_string(i));
  add("ManagedClusterConditionAvailable");
  std::optional<Json> patch =
      StatusPatch(cluster, {.access = true, .joined = true, .silent = true}, kNow);
  ASSERT_TRUE(patch);
  const Json& after = (*patch)["status"]["conditions"];
  EXPECT_EQ(after.size(), kMaxConditions);
  EXPECT_EQ(after[28]["type"], "Junk28") << "the last ones are dropped";
  EXPECT_EQ(after[29]["type"], "ManagedClusterConditionAvailable");
  EXPECT_EQ(Condition(patch, "ManagedClusterConditionAvailable").substr(0, 7), "Unknown");
  EXPECT_EQ(Condition(patch, "HubAcceptedManagedCluster").substr(0, 4), "True");
  EXPECT_EQ(Condition(patch, "ManagedClusterJoined").substr(0, 4), "True");

  // The same type many times.
  for (Json& condition : conditions) condition["type"] = "ManagedClusterConditionAvailable";
  patch = StatusPatch(cluster, {.access = true, .joined = true, .silent = true}, kNow);
  ASSERT_TRUE(patch);
  EXPECT_EQ((*patch)["status"]["conditions"].size(), kMaxConditions);
  EXPECT_EQ(Condition(patch, "HubAcceptedManagedCluster").substr(0, 4), "True");
  EXPECT_EQ(Condition(patch, "ManagedClusterJoined").substr(0, 4), "True");
}

TEST(StatusPatch, NothingAtRest) {
  Json cluster = Cluster("True");
  MemberFacts facts{.access = true, .joined = true};
  std::optional<Json> patch = StatusPatch(cluster, facts, kNow);
  ASSERT_TRUE(patch);
  EXPECT_EQ((*patch)["metadata"], kube::MustParseJson(R"({"resourceVersion": "7"})"));
  EXPECT_EQ((*patch)["status"]["conditions"][0], cluster["status"]["conditions"][0])
      << "the agent's stays as it is";
  cluster["status"] = (*patch)["status"];
  EXPECT_FALSE(StatusPatch(cluster, facts, kNow + 1h));
  EXPECT_FALSE(ObjectPatch(cluster, true, kNow + 1h));
}

TEST(GraceOf, IsFiveLeases) {
  Json cluster = Cluster();
  EXPECT_EQ(GraceOf(cluster), 300s);
  cluster["spec"]["leaseDurationSeconds"] = 1;
  EXPECT_EQ(GraceOf(cluster), 5s);
  cluster["spec"]["leaseDurationSeconds"] = 2'000'000'000;
  EXPECT_EQ(GraceOf(cluster), 5h);
  cluster["spec"]["leaseDurationSeconds"] = -4;
  EXPECT_EQ(GraceOf(cluster), 300s);
}

TEST(AgentCanRemove, WhileItLivesForSomeMinutes) {
  Json deleted = Cluster("True");
  EXPECT_FALSE(AgentCanRemove(deleted, 0s, kNow)) << "it is not being deleted";
  deleted["metadata"]["deletionTimestamp"] = kTime;
  EXPECT_TRUE(AgentCanRemove(deleted, 299s, kNow + 299s));
  EXPECT_FALSE(AgentCanRemove(deleted, 0s, kNow + kRemovalTime));
  EXPECT_FALSE(AgentCanRemove(deleted, 300s, kNow)) << "it is silent";

  for (const char* available : {"False", "Unknown", ""}) {
    Json other = Cluster(available);
    other["metadata"]["deletionTimestamp"] = kTime;
    EXPECT_FALSE(AgentCanRemove(other, 0s, kNow)) << available;
  }
  Json denied = deleted;
  denied["spec"]["hubAcceptsClient"] = false;
  EXPECT_FALSE(AgentCanRemove(denied, 0s, kNow));
  Json malformed = deleted;
  malformed["metadata"]["deletionTimestamp"] = "soon";
  EXPECT_FALSE(AgentCanRemove(malformed, 0s, kNow));
}

TEST(ClusterState, AnythingMayBeMalformed) {
  for (const char* text : {"{}", R"({"metadata": 1, "spec": 2, "status": 3})",
                           R"({"metadata": {"labels": [], "finalizers": {}},
                               "spec": {"hubAcceptsClient": "yes", "taints": {}},
                               "status": {"conditions": [null, {"type": 4}]}})"}) {
    Json cluster = kube::MustParseJson(text);
    EXPECT_FALSE(IsAccepted(cluster)) << text;
    EXPECT_TRUE(ObjectPatch(cluster, true, kNow)) << text;
    EXPECT_FALSE(StatusPatch(cluster, {.silent = true}, kNow)) << text;
    EXPECT_FALSE(HasFinalizer(cluster, kMembershipFinalizer)) << text;
  }
}

}  // namespace
}  // namespace fleet
