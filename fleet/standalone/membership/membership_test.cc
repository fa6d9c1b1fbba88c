// SPDX-License-Identifier: Apache-2.0
#include "fleet/standalone/membership/membership.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fleet/api/budgets.h"
#include "fleet/api/managed_cluster.h"
#include "fleet/api/managed_cluster_set.h"
#include "fleet/api/managed_cluster_status.h"
#include "fleet/api/names.h"
#include "fleet/api/pod_placement_work.h"
#include "fleet/api/reading.h"
#include "fleet/standalone/access/agent_access.h"
#include "fleet/standalone/membership/access_watch.h"
#include "fleet/standalone/membership/cluster_access.h"
#include "fleet/standalone/membership/cluster_reconciler.h"
#include "fleet/standalone/membership/cluster_state.h"
#include "fleet/standalone/membership/set_reconciler.h"
#include "fleet/standalone/membership/write_pace.h"
#include "fleet/testing/condition_text.h"
#include "fleet/testing/hub_fixture.h"
#include "fleet/testing/make_object.h"
#include "kube/base/task_group.h"
#include "kube/testing/run.h"
#include "kube/types/kinds.h"
#include "kube/types/unstructured.h"

namespace fleet {
namespace {

using kube::Json;
using kube::ObjectKey;
using kube::Unstructured;
using kube::coordination::Lease;
using namespace std::chrono_literals;

class MembershipTest : public HubFixture {
 protected:
  void Start() {
    leader_tasks_ = std::make_unique<kube::TaskGroup>(io_.get_executor());
    membership_ = std::make_unique<Membership>(api_, clock_, options_);
    membership_->Start(*leader_tasks_);
    Pass(0s);
  }
  void Stop() {
    // All end at once: the time of the grace does not pass here.
    if (leader_tasks_) {
      kube::Result<> stopped = kube::Run(io_, leader_tasks_->Stop(clock_, 1s));
      EXPECT_TRUE(stopped) << stopped.error();
    }
    membership_.reset();
    leader_tasks_.reset();
  }
  void TearDown() override {
    Stop();
    HubFixture::TearDown();
  }
  // One step more: a conflict is retried after some milliseconds.
  void Pass(kube::Duration time) {
    HubFixture::Pass(time);
    for (int i = 0; i < 6; ++i) HubFixture::Pass(10ms);
  }

  void CreateCluster(const std::string& name) {
    api_.CreateJson(kManagedClusters, MakeManagedCluster(name));
  }
  // A work whose objects the agent has applied.
  void CreateWork(const std::string& cluster) {
    api_.CreateJson(kPodPlacementWorks, MakeWork(cluster).Finalizer(kWorkFinalizer));
  }
  void Accept(const std::string& name, bool accepted) {
    api_.PatchJson(kManagedClusters, {"", name}, {{"spec", {{"hubAcceptsClient", accepted}}}});
    Pass(0s);
  }
  Json Cluster(const std::string& name) {
    std::optional<Json> cluster = api_.GetJson(kManagedClusters, {"", name});
    return cluster ? *cluster : Json::object();
  }
  // What the agent does.
  void Renew(const std::string& cluster) {
    WriteLease(cluster);
    Pass(0s);
  }
  void WriteLease(const std::string& cluster) {
    ++renewals_;
    Lease lease;
    lease.mutable_metadata()->set_name(std::string(kClusterLease));
    lease.mutable_metadata()->set_namespace_(cluster);
    // The clock of the agent is years ahead.
    lease.mutable_spec()->mutable_renew_time()->set_seconds(9'000'000'000 + renewals_);
    if (api_.Get<Lease>({cluster, std::string(kClusterLease)})) {
      api_.Update(lease);
    } else {
      api_.Create(lease);
    }
  }
  void Report(const std::string& cluster, const std::string& status) {
    Json object = Cluster(cluster);
    Json conditions = object.contains("status") ? object["status"]["conditions"] : Json::array();
    SetCondition(conditions, {kClusterAvailable, status, "Test", ""}, clock_.WallNow());
    object["status"]["conditions"] = std::move(conditions);
    api_.UpdateJson(kManagedClusters, object);
    Pass(0s);
  }
  void Join(const std::string& cluster) {
    CreateCluster(cluster);
    Pass(0s);
    Renew(cluster);
    Report(cluster, "True");
  }

  std::string Available(const std::string& cluster) {
    return ConditionStatus(Cluster(cluster), kClusterAvailable);
  }
  // The keys of the taints, without their prefix.
  std::string Taints(const std::string& cluster) {
    std::string names;
    const Json object = Cluster(cluster);
    const Json* taints = kube::Find(object, "spec.taints");
    if (taints == nullptr) return names;
    for (const Json& taint : *taints) {
      std::string key = kube::StringAt(taint, "key");
      names += key.substr(key.find('/') + 1) + " ";
    }
    return names;
  }
  int AccessParts(const std::string& cluster) {
    int parts = 0;
    for (size_t part = 0; part < AccessWatch::kParts; ++part)
      parts += api_.GetJson(kAgentAccessResources[part], AccessKey(cluster, part)).has_value();
    return parts;
  }
  bool HasNamespace(const std::string& name) {
    return api_.GetJson(kube::kNamespaces, {"", name}).has_value();
  }

  MembershipOptions options_{.hub_namespace = "hub"};
  std::unique_ptr<kube::TaskGroup> leader_tasks_;
  std::unique_ptr<Membership> membership_;
  int64_t renewals_ = 0;
};

TEST_F(MembershipTest, AnAcceptedClusterGetsNamespaceAccessAndSet) {
  Start();
  CreateCluster("c1");
  Pass(0s);
  Json ns = *api_.GetJson(kube::kNamespaces, {"", "c1"});
  EXPECT_TRUE(IsClusterNamespace(ns));
  EXPECT_EQ(AccessParts("c1"), 4);
  EXPECT_EQ(Cluster("c1")["metadata"]["labels"][std::string(kClusterSetLabel)], "default");
  EXPECT_TRUE(HasFinalizer(Cluster("c1"), kMembershipFinalizer));
  EXPECT_EQ(ConditionText(Cluster("c1"), kHubAccepted), "True HubClusterAdminAccepted");
  EXPECT_EQ(ConditionText(Cluster("c1"), kClusterJoined), "");
  EXPECT_EQ(Taints("c1"), "unreachable ");

  Renew("c1");
  EXPECT_EQ(ConditionText(Cluster("c1"), kClusterJoined), "True ManagedClusterJoined");
  Report("c1", "True");
  EXPECT_EQ(Taints("c1"), "");
  Report("c1", "False");
  EXPECT_EQ(Taints("c1"), "unavailable ");
  EXPECT_EQ(membership_->CountAvailable().unavailable, 1u);
}

TEST_F(MembershipTest, ConditionsOfAMemberAreBounded) {
  Start();
  Join("c1");
  Json object = Cluster("c1");
  for (int i = 0; i < 10; ++i) {
    SetCondition(object["status"]["conditions"],
                 {"Other" + std::to_string(i), "True", "Test", std::string(1000, 'm')},
                 clock_.WallNow());
  }
  Unstructured trimmed(object);
  TrimCluster(trimmed);
  EXPECT_LT(kube::PackJson(trimmed.body()).size(), kMaxMemberBytes);
  EXPECT_EQ(ConditionStatus(trimmed.body(), kClusterAvailable), "True");
  EXPECT_EQ(ConditionStatus(trimmed.body(), kHubAccepted), "True");
  EXPECT_EQ(ConditionStatus(trimmed.body(), "Other1"), "");

  // It stays a member like others.
  api_.UpdateJson(kManagedClusters, object);
  Pass(0s);
  EXPECT_EQ(Available("c1"), "True");
  Report("c1", "False");
  EXPECT_EQ(Taints("c1"), "unavailable ");
}

TEST_F(MembershipTest, NothingIsWrittenAtRestNorByTheNextLeader) {
  Start();
  Join("c1");
  api_.CreateJson(kManagedClusters,
                  MakeManagedCluster("waiting").Set("/spec/hubAcceptsClient", false));
  Pass(0s);
  Pass(Membership::kRecount);
  size_t calls = api_.calls().size();
  for (int i = 0; i < 20; ++i) {
    Pass(60s);
    Renew("c1");
  }
  EXPECT_EQ(api_.calls().size(), calls);
  int writes = api_.CountWrites();
  Stop();
  Start();
  Pass(Membership::kRecount);
  EXPECT_EQ(api_.CountWrites(), writes);
  EXPECT_EQ(Available("c1"), "True");
}

// Each write of a member moves the resourceVersion that the hub's next write names.
TEST_F(MembershipTest, AMemberThatWritesWithoutEndLosesItsAccess) {
  Start();
  Join("c1");
  Join("c2");
  ASSERT_EQ(AccessParts("c1"), 4);
  api_.FailNext(kube::Error::FromHttpStatus(409, "Conflict", "the object has been modified"),
                "PATCH /apis/cluster.open-cluster-management.io/v1/managedclusters/c1", 1000);
  Report("c1", "False");
  Accept("c1", false);
  EXPECT_EQ(AccessParts("c1"), 0);

  // The taints follow each report, until the pace of the hub's writes is used up.
  for (int i = 0; i < 40; ++i) Report("c2", i % 2 == 0 ? "False" : "True");
  Report("c2", "False");
  Accept("c2", false);
  EXPECT_EQ(AccessParts("c2"), 0);
}

TEST_F(MembershipTest, APartOfTheAccessThatStaysKeepsNoOtherPart) {
  Start();
  Join("c1");
  api_.FailNext(kube::Error::Unavailable("503"),
                "DELETE /apis/rbac.authorization.k8s.io/v1/clusterrolebindings/", 1000);
  Accept("c1", false);
  EXPECT_EQ(AccessParts("c1"), 1);
  EXPECT_FALSE(api_.GetJson(kube::kServiceAccounts, {"c1", std::string(kAgentAccess)}))
      << "its tokens are void";
}

TEST_F(MembershipTest, ASilentAgentIsUnreachable) {
  Start();
  Join("c1");
  Join("c2");
  for (int i = 0; i < 4; ++i) {
    Pass(60s);
    Renew("c2");
  }
  Pass(50s);
  EXPECT_EQ(Available("c1"), "True");
  Pass(15s);
  EXPECT_EQ(ConditionText(Cluster("c1"), kClusterAvailable),
            "Unknown ManagedClusterLeaseUpdateStopped");
  EXPECT_EQ(Taints("c1"), "unreachable ");
  EXPECT_EQ(Taints("c2"), "");
  EXPECT_EQ(membership_->CountAvailable().unreachable, 1u);

  // Back, with a grace period from then on, although the Lease is not renewed.
  Report("c1", "True");
  EXPECT_EQ(Taints("c1"), "");
  Renew("c2");
  Pass(290s);
  EXPECT_EQ(Taints("c1"), "");
  Pass(15s);
  EXPECT_EQ(Taints("c1"), "unreachable ");
}

TEST_F(MembershipTest, TheLeaseDurationOfTheClusterCounts) {
  Start();
  Join("c1");
  api_.PatchJson(kManagedClusters, {"", "c1"}, {{"spec", {{"leaseDurationSeconds", 2}}}});
  Pass(8s);
  EXPECT_EQ(Taints("c1"), "");
  Pass(3s);
  EXPECT_EQ(Taints("c1"), "unreachable ");
}

TEST_F(MembershipTest, ANewLeaderWaitsAWholeGracePeriod) {
  Start();
  Join("c1");
  Pass(250s);
  Stop();
  Pass(1h);
  Start();
  Pass(290s);
  EXPECT_EQ(Available("c1"), "True");
  Pass(15s);
  EXPECT_EQ(Available("c1"), "Unknown");
}

TEST_F(MembershipTest, NobodyIsUnreachableBecauseTheHubSeesNoLeases) {
  Start();
  Join("c1");
  Pass(200s);
  api_.Stop();
  for (int i = 0; i < 40; ++i) Pass(5s);
  api_.Start();
  Pass(30s);
  EXPECT_EQ(Available("c1"), "True");
  Pass(200s);
  EXPECT_EQ(Available("c1"), "True");
  Pass(110s);
  EXPECT_EQ(Available("c1"), "Unknown");
}

TEST_F(MembershipTest, TheLeaseIsReadBeforeAClusterBecomesUnreachable) {
  Start();
  Join("c1");
  const std::string read = "GET /apis/coordination.k8s.io/v1/namespaces/c1/leases/";
  // The read is the first to see a renewal.
  bool renewed = false;
  api_.BeforeEach([&](const std::string& call) {
    if (call.find(read) != std::string::npos && !std::exchange(renewed, true)) WriteLease("c1");
  });
  Pass(290s);
  EXPECT_EQ(api_.CountCalls(read), 0);
  Pass(15s);
  EXPECT_EQ(api_.CountCalls(read), 1);
  EXPECT_EQ(Available("c1"), "True");
  Pass(310s);
  EXPECT_EQ(api_.CountCalls(read), 2);
  EXPECT_EQ(Available("c1"), "Unknown");
  Pass(10min);
  EXPECT_EQ(api_.CountCalls(read), 2);
}

TEST_F(MembershipTest, LostAndChangedAccessIsRestored) {
  Start();
  Join("c1");
  api_.DeleteJson(kube::kRoleBindings, AccessKey("c1", 1));
  Pass(0s);
  EXPECT_EQ(AccessParts("c1"), 4);
  Json role = *api_.GetJson(kube::kClusterRoles, AccessKey("c1", 2));
  Json wanted = role["rules"];
  role["rules"][0]["verbs"] = Json::array({"*"});
  api_.UpdateJson(kube::kClusterRoles, role);
  Pass(0s);
  EXPECT_EQ((*api_.GetJson(kube::kClusterRoles, AccessKey("c1", 2)))["rules"], wanted);
}

TEST_F(MembershipTest, ADeniedClusterLosesItsAccessAtOnce) {
  Start();
  Join("c1");
  Accept("c1", false);
  EXPECT_EQ(AccessParts("c1"), 0);
  EXPECT_TRUE(HasNamespace("c1"));
  EXPECT_EQ(ConditionText(Cluster("c1"), kHubAccepted), "False HubClusterAdminDenied");
  EXPECT_EQ(Taints("c1"), "unreachable ");
  Accept("c1", true);
  EXPECT_EQ(AccessParts("c1"), 4);
  EXPECT_EQ(ConditionText(Cluster("c1"), kHubAccepted), "True HubClusterAdminAccepted");
}

TEST_F(MembershipTest, NamespacesOfOthersAreNeverUsed) {
  api_.CreateJson(kube::kNamespaces, MakeNamespace("payments"));
  api_.CreateJson(kube::kNamespaces, MakeNamespace("of-c9").Label(kClusterNameLabel, "c9"));
  // What its owner has there, under the names of an agent's.
  for (const kube::Resource& resource : {kube::kServiceAccounts, kube::kRoleBindings})
    api_.CreateJson(resource, MakeObject(resource, "payments", std::string(kAgentAccess)));
  Start();
  for (const char* name : {"kube-system", "default", "openshift-x", "hub", "payments", "of-c9"}) {
    CreateCluster(name);
    Pass(0s);
    EXPECT_EQ(ConditionText(Cluster(name), kHubAccepted), "False NamespaceRefused") << name;
    EXPECT_EQ(Taints(name), "unreachable ") << name;
    EXPECT_EQ(AccessParts(name), name == std::string("payments") ? 2 : 0) << name;
  }
  EXPECT_FALSE(HasNamespace("kube-system"));
  for (const char* name : {"kube-system", "payments"}) {
    api_.DeleteJson(kManagedClusters, {"", name});
    Pass(0s);
    EXPECT_EQ(Cluster(name), Json::object()) << name;
  }
  EXPECT_TRUE(HasNamespace("payments"));
  EXPECT_EQ(AccessParts("payments"), 2);

  // The administrator gives the namespace to the cluster.
  api_.PatchJson(kube::kNamespaces, {"", "of-c9"},
                 {{"metadata", {{"labels", {{std::string(kClusterNameLabel), "of-c9"}}}}}});
  Pass(0s);
  EXPECT_EQ(AccessParts("of-c9"), 4);
  EXPECT_EQ(ConditionText(Cluster("of-c9"), kHubAccepted), "True HubClusterAdminAccepted");
  api_.DeleteJson(kManagedClusters, {"", "of-c9"});
  Pass(0s);
  EXPECT_EQ(AccessParts("of-c9"), 0);
  EXPECT_TRUE(HasNamespace("of-c9")) << "the hub did not create it";
}

TEST_F(MembershipTest, TheAgentOfADeletedClusterRemovesItsWorksFirst) {
  Start();
  Join("c1");
  CreateWork("c1");
  api_.DeleteJson(kManagedClusters, {"", "c1"});
  Pass(0s);
  std::optional<Json> work = api_.GetJson(kPodPlacementWorks, {"c1", "team.web"});
  ASSERT_TRUE(work);
  EXPECT_NE(kube::Find(*work, "metadata.deletionTimestamp"), nullptr);
  EXPECT_EQ(AccessParts("c1"), 4);
  Pass(10s);
  EXPECT_EQ(AccessParts("c1"), 4);

  // The agent's answer.
  api_.PatchJson(kPodPlacementWorks, {"c1", "team.web"}, {{"metadata", {{"finalizers", nullptr}}}});
  ASSERT_FALSE(api_.GetJson(kPodPlacementWorks, {"c1", "team.web"}));
  Pass(1s);
  EXPECT_EQ(AccessParts("c1"), 0);
  EXPECT_FALSE(HasNamespace("c1"));
  EXPECT_EQ(Cluster("c1"), Json::object());
  EXPECT_EQ(api_.CountCalls("PATCH /apis/multiarch.openshift.io/"), 0);
}

TEST_F(MembershipTest, AMemberCannotDelayItsDeletionForLong) {
  Start();
  Join("c1");
  CreateWork("c1");
  api_.DeleteJson(kManagedClusters, {"", "c1"});
  for (int i = 0; i < 9; ++i) {
    Pass(30s);
    Renew("c1");
  }
  EXPECT_EQ(AccessParts("c1"), 4);
  Pass(31s);
  EXPECT_EQ(AccessParts("c1"), 0);
  Pass(1s);
  EXPECT_EQ(Cluster("c1"), Json::object());
}

TEST_F(MembershipTest, ADeletedClusterWithoutAgentLosesAccessThenWorksThenNamespace) {
  Start();
  Join("c1");
  CreateWork("c1");
  Pass(310s);
  ASSERT_EQ(Available("c1"), "Unknown");
  size_t before = api_.calls().size();
  api_.DeleteJson(kManagedClusters, {"", "c1"});
  Pass(0s);
  EXPECT_EQ(AccessParts("c1"), 0);
  Pass(1s);
  EXPECT_TRUE(api_.ListJson(kPodPlacementWorks, "c1").empty());
  EXPECT_FALSE(HasNamespace("c1"));
  EXPECT_EQ(Cluster("c1"), Json::object());

  std::vector<std::string> writes;
  for (size_t i = before; i < api_.calls().size(); ++i) {
    std::string call = api_.calls()[i].substr(0, api_.calls()[i].find('?'));
    bool first = std::find(writes.begin(), writes.end(), call) == writes.end();
    if (first && !call.starts_with("GET ") && !call.starts_with("WATCH "))
      writes.push_back(std::move(call));
  }
  const std::vector<std::string> want = {
      "DELETE /apis/rbac.authorization.k8s.io/v1/clusterrolebindings/multiarch-fleet-agent%3Ac1",
      "DELETE /apis/rbac.authorization.k8s.io/v1/clusterroles/multiarch-fleet-agent%3Ac1",
      "DELETE /apis/rbac.authorization.k8s.io/v1/namespaces/c1/rolebindings/multiarch-fleet-agent",
      "DELETE /api/v1/namespaces/c1/serviceaccounts/multiarch-fleet-agent",
      "PATCH /apis/multiarch.openshift.io/v1alpha1/namespaces/c1/podplacementworks/team.web",
      "DELETE /apis/multiarch.openshift.io/v1alpha1/namespaces/c1/podplacementworks/team.web",
      "DELETE /api/v1/namespaces/c1",
      "PATCH /apis/cluster.open-cluster-management.io/v1/managedclusters/c1"};
  EXPECT_EQ(writes, want);
}

TEST_F(MembershipTest, AClusterThatIsGoneLeavesNoAccess) {
  Start();
  Join("c1");
  Stop();
  // A user removed the finalizer while there was no leader.
  api_.PatchJson(kManagedClusters, {"", "c1"}, {{"metadata", {{"finalizers", nullptr}}}});
  api_.DeleteJson(kManagedClusters, {"", "c1"});
  EXPECT_EQ(AccessParts("c1"), 4);
  Start();
  EXPECT_EQ(AccessParts("c1"), 0);
}

TEST_F(MembershipTest, AnotherWriterIsNotFoughtAtItsPace) {
  Start();
  Join("c1");
  const std::string patch = "PATCH /apis/cluster.open-cluster-management.io/v1/managedclusters/c1";
  int before = api_.CountCalls(patch);
  for (int i = 0; i < 100; ++i) {
    api_.PatchJson(kManagedClusters, {"", "c1"},
                   {{"metadata", {{"labels", {{std::string(kClusterSetLabel), nullptr}}}}}});
    Pass(100ms);
  }
  EXPECT_LE(api_.CountCalls(patch) - before, WritePace::kWrites);
  EXPECT_GT(api_.CountCalls(patch) - before, 0);
  // The last word is the hub's.
  Pass(2min);
  EXPECT_EQ(Cluster("c1")["metadata"]["labels"][std::string(kClusterSetLabel)], "default");
}

TEST_F(MembershipTest, CreatesTheTwoSetsAndNeverChangesThem) {
  api_.CreateJson(
      kManagedClusterSets,
      MakeClusterSet("global", R"({"clusterSelector": {"selectorType": "LabelSelector"}})"));
  Start();
  Json created = *api_.GetJson(kManagedClusterSets, {"", "default"});
  EXPECT_EQ(created["spec"]["clusterSelector"]["selectorType"], "ExclusiveClusterSetLabel");
  Json global = *api_.GetJson(kManagedClusterSets, {"", "global"});
  EXPECT_FALSE(global["spec"]["clusterSelector"].contains("labelSelector"));

  api_.DeleteJson(kManagedClusterSets, {"", "global"});
  Pass(0s);
  global = *api_.GetJson(kManagedClusterSets, {"", "global"});
  EXPECT_EQ(global["spec"]["clusterSelector"]["labelSelector"], Json::object());
}

TEST_F(MembershipTest, SetsSayWhetherTheyAreEmptyAndBindingsWhetherTheirSetExists) {
  api_.CreateJson(kManagedClusterSetBindings, MakeSetBinding("team", "east"));
  Start();
  auto empty = [&](const char* name) {
    return Condition(kManagedClusterSets, {"", name}, kClusterSetEmpty);
  };
  auto bound = [&] { return Condition(kManagedClusterSetBindings, {"team", "east"}, kBound); };
  EXPECT_EQ(empty("default"), "True NoClusterMatched");
  EXPECT_EQ(bound(), "False ClusterSetNotFound");
  api_.CreateJson(kManagedClusterSets, MakeClusterSet("east"));
  Pass(0s);
  EXPECT_EQ(bound(), "True ClusterSetBound");
  EXPECT_EQ(empty("east"), "True NoClusterMatched");
  CreateCluster("c1");
  Pass(0s);
  Pass(Membership::kRecount);
  EXPECT_EQ(empty("default"), "False ClustersSelected");
  EXPECT_EQ(empty("global"), "False ClustersSelected");
  EXPECT_EQ(empty("east"), "True NoClusterMatched");
  api_.DeleteJson(kManagedClusterSets, {"", "east"});
  Pass(0s);
  EXPECT_EQ(bound(), "False ClusterSetNotFound");
}

}  // namespace
}  // namespace fleet
