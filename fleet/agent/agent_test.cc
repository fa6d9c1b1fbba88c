// SPDX-License-Identifier: Apache-2.0
#include "fleet/agent/agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fleet/agent/work_objects.h"
#include "fleet/api/add_on_placement_score.h"
#include "fleet/api/managed_cluster.h"
#include "fleet/api/managed_cluster_status.h"
#include "fleet/api/pod_placement_work.h"
#include "fleet/testing/make_object.h"
#include "kube/base/task_group.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/types/kinds.h"

namespace fleet {
namespace {

using kube::Error;
using kube::FakeApiServer;
using kube::Json;
using kube::ObjectKey;
using kube::Resource;
using testing::HasSubstr;
using namespace std::chrono_literals;

const Resource& kCppc = AppliedKinds().front();
const Resource& kPpc = AppliedKinds().back();
const ObjectKey kConfig{"", "cluster"};
const ObjectKey kWork{"c1", "team.web"};
const ObjectKey kCluster{"", "c1"};
const ObjectKey kScore{"c1", "multiarch"};

Json Config(const char* verbosity = "Normal") { return MakeClusterConfig(verbosity); }
Json Ppc(const char* name) { return MakeConfig("ns", name); }

class AgentTest : public testing::Test {
 protected:
  void SetUp() override {
    hub_.CreateJson(kManagedClusters, MakeManagedCluster("c1"));
    AddNode("n1", "arm64", "128");
    Start();
  }
  void TearDown() override { Stop(); }

  void Start() {
    agent_ = std::make_unique<Agent>(hub_, member_, clock_, options_, nullptr);
    tasks_ = std::make_unique<kube::TaskGroup>(io_.get_executor());
    tasks_->Spawn("agent", agent_->Run(*tasks_));
    After(10s);
  }
  void Stop() {
    ASSERT_THAT(kube::Run(io_, tasks_->Stop(kube::RealClock(), 5s)), kube::IsOk());
    agent_.reset();
  }
  // Lets the agent work, second by second.
  void After(std::chrono::seconds time) {
    kube::Drain(io_);
    for (std::chrono::seconds i{0}; i < time; ++i) {
      clock_.Advance(1s);
      kube::Drain(io_);
    }
  }

  // Adds a Node to the member.
  void AddNode(const char* name, const char* architecture, const char* cpu) {
    Json resources = {{"cpu", cpu}, {"memory", "256Gi"}};
    Json ready = {{"type", "Ready"}, {"status", "True"}};
    member_.CreateJson(kube::kNodes, MakeObject(kube::kNodes, "", name)
                                         .Label("kubernetes.io/arch", architecture)
                                         .Set("/status/capacity", resources)
                                         .Set("/status/allocatable", resources)
                                         .Set("/status/conditions", Json::array({ready})));
  }
  void AddPod(const char* name, const char* cpu) {
    Json container = {{"name", "c"}, {"resources", {{"requests", {{"cpu", cpu}}}}}};
    member_.CreateJson(kube::kPods, MakeObject(kube::kPods, "ns", name)
                                        .Set("/spec/nodeName", "n1")
                                        .Set("/spec/containers", Json::array({container})));
  }
  std::optional<Json> Member(const Resource& resource, const ObjectKey& key) {
    return member_.GetJson(resource, key);
  }
  // The cluster's operator reports Available.
  void SetAvailable(const Resource& resource, const ObjectKey& key) {
    Json available = {{"type", "Available"}, {"status", "True"}};
    member_.PatchJson(resource, key, {{"status", {{"conditions", Json::array({available})}}}});
  }

  // Creates a work on the hub.
  void CreateWork(std::vector<Json> objects, Json changes = Json::object()) {
    Json work = MakeWork(kWork.ns, std::move(objects));
    work["spec"].update(changes);
    hub_.CreateJson(kPodPlacementWorks, work);
    After(5s);
  }
  void ChangeWork(const Json& spec) {
    hub_.PatchJson(kPodPlacementWorks, kWork, {{"spec", spec}});
    After(5s);
  }
  // "Failed Conflict", with the hash if it is not "h1".
  std::string Answer() {
    std::optional<Json> work = hub_.GetJson(kPodPlacementWorks, kWork);
    if (!work) return "no work";
    const Json* conditions = kube::Find(*work, "status.conditions");
    if (conditions == nullptr) return "no answer";
    std::string hash = kube::StringAt(*work, "status.hash");
    return kube::StringAt(*work, "status.phase") + " " +
           kube::StringAt((*conditions)[0], "reason") + (hash == "h1" ? "" : " " + hash);
  }
  std::string AvailableCondition() {
    Json cluster = *hub_.GetJson(kManagedClusters, kCluster);
    const Json* conditions = kube::Find(cluster, "status.conditions");
    return conditions == nullptr ? "none" : kube::StringAt((*conditions)[0], "status");
  }
  int Score(const char* name) {
    std::optional<Json> stored = hub_.GetJson(kAddOnPlacementScores, kScore);
    if (!stored) return -1;
    return AddOnPlacementScore::FromJson(*stored)->scores[name];
  }
  // Changes the ClusterPodPlacementConfig of the member, as a user or its operator does.
  void PatchConfig(const Json& patch) { member_.PatchJson(kCppc, kConfig, patch); }
  void SetVerbosity(const char* verbosity) {
    PatchConfig({{"spec", {{"logVerbosity", verbosity}}}});
  }
  // Writes, without those to the Lease.
  static int Writes(const FakeApiServer& api) {
    return api.CountWrites() - api.CountCalls("PATCH /apis/coordination.k8s.io/");
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  FakeApiServer hub_{clock_};
  FakeApiServer member_{clock_};
  AgentOptions options_{.cluster = "c1"};
  std::unique_ptr<Agent> agent_;
  std::unique_ptr<kube::TaskGroup> tasks_;
};

// --- What is applied

TEST_F(AgentTest, AppliesAndAnswers) {
  CreateWork({Config(), Ppc("web")});
  Json work = *hub_.GetJson(kPodPlacementWorks, kWork);
  EXPECT_EQ(work["metadata"]["finalizers"], Json::array({std::string(kWorkFinalizer)}));
  std::optional<Json> config = Member(kCppc, kConfig);
  ASSERT_TRUE(config);
  EXPECT_EQ(WorkUidOf(*config), work["metadata"]["uid"]);
  EXPECT_EQ(Answer(), "Progressing Progressing");

  SetAvailable(kCppc, kConfig);
  After(1s);
  EXPECT_EQ(Answer(), "Progressing Progressing");
  SetAvailable(kPpc, {"ns", "web"});
  After(1s);
  EXPECT_EQ(Answer(), "Succeeded Succeeded");

  ChangeWork({{"hash", "h2"}, {"objects", {Config("Debug")}}});
  EXPECT_EQ((*Member(kCppc, kConfig))["spec"]["logVerbosity"], "Debug");
  EXPECT_EQ(Answer(), "Succeeded Succeeded h2");
}

TEST_F(AgentTest, NothingIsAppliedBeforeTheFinalizerIsThere) {
  hub_.FailNext(Error::Unavailable("503"), "PATCH", 1000);
  CreateWork({Config()});
  EXPECT_EQ(Writes(member_), 0);
}

TEST_F(AgentTest, NothingIsWrittenWhenNothingChanged) {
  CreateWork({Config(), Ppc("web")});
  SetAvailable(kCppc, kConfig);
  SetAvailable(kPpc, {"ns", "web"});
  After(20s);
  int hub = Writes(hub_);
  int member = Writes(member_);
  After(300s);
  EXPECT_EQ(Writes(hub_), hub);
  EXPECT_EQ(Writes(member_), member);
  EXPECT_EQ(hub_.CountCalls("PATCH /apis/coordination.k8s.io/v1/namespaces/c1/leases/"), 7);

  // The next replica does not write it either.
  Stop();
  Start();
  After(20s);
  EXPECT_EQ(Writes(hub_), hub);
  EXPECT_EQ(Writes(member_), member);
}

TEST_F(AgentTest, AForeignObjectIsNotOverwritten) {
  member_.CreateJson(kCppc, Config("Trace"));
  Json before = *Member(kCppc, kConfig);
  CreateWork({Config(), Ppc("web")});
  EXPECT_EQ(Answer(), "Failed Conflict");
  EXPECT_EQ(*Member(kCppc, kConfig), before);
  EXPECT_TRUE(Member(kPpc, {"ns", "web"}));

  // The work is reconciled again.
  member_.DeleteJson(kCppc, kConfig);
  After(61s);
  EXPECT_EQ((*Member(kCppc, kConfig))["spec"]["logVerbosity"], "Normal");
}

TEST_F(AgentTest, OfTwoWorksWithOneObjectTheSecondNamesTheFirst) {
  CreateWork({Config()});
  Json second = *hub_.GetJson(kPodPlacementWorks, kWork);
  second["metadata"] = {{"namespace", kWork.ns}, {"name", "other.second"}};
  second["spec"]["adopt"] = true;
  second.erase("status");
  hub_.CreateJson(kPodPlacementWorks, second);
  After(5s);
  Json answer = *hub_.GetJson(kPodPlacementWorks, {"c1", "other.second"});
  EXPECT_EQ(kube::StringAt(answer, "status.phase"), "Failed");
  EXPECT_EQ(answer["status"]["conditions"][0]["message"],
            "ClusterPodPlacementConfig cluster belongs to another PodPlacementWork, \"team.web\"");
  EXPECT_EQ(Answer(), "Progressing Progressing");
}

TEST_F(AgentTest, AForeignObjectIsAdopted) {
  member_.CreateJson(kCppc, Config("Trace"));
  CreateWork({Config()}, {{"adopt", true}});
  EXPECT_EQ((*Member(kCppc, kConfig))["spec"]["logVerbosity"], "Normal");
  EXPECT_EQ(Answer(), "Progressing Progressing");
}

TEST_F(AgentTest, AForeignObjectThatAppearsMeanwhileIsNotForced) {
  CreateWork({Config()});
  ASSERT_THAT(member_.calls(), testing::Not(testing::Contains(HasSubstr("force=true"))));
  // The mark is removed between the read and the apply.
  bool once = false;
  member_.BeforeEach([&](const std::string& call) {
    if (once || !call.starts_with("PATCH")) return;
    once = true;
    PatchConfig({{"metadata", {{"labels", nullptr}}}});
    SetVerbosity("Trace");
  });
  ChangeWork({{"hash", "h2"}, {"objects", {Config("Debug")}}});
  EXPECT_TRUE(once);
  EXPECT_EQ(Answer(), "Failed Conflict h2");
  EXPECT_EQ((*Member(kCppc, kConfig))["spec"]["logVerbosity"], "Trace");
}

TEST_F(AgentTest, OtherKindsAreRefused) {
  Json binding = {{"apiVersion", "rbac.authorization.k8s.io/v1"},
                  {"kind", "ClusterRoleBinding"},
                  {"metadata", {{"name", "admin"}}},
                  {"roleRef", {{"kind", "ClusterRole"}, {"name", "cluster-admin"}}}};
  CreateWork({Config(), binding});
  EXPECT_EQ(Answer(), "Failed KindNotAllowed");
  EXPECT_EQ(Writes(member_), 0);
}

TEST_F(AgentTest, ALongKindIsNotCutInsideACharacter) {
  std::string kind;
  for (int i = 0; i < 100; ++i) kind += "\u00e4";
  for (const char* first : {"", "x"}) {
    Json odd = {{"apiVersion", "v1"}, {"kind", first + kind}};
    CreateWork({odd});
    EXPECT_EQ(Answer(), "Failed KindNotAllowed");
    hub_.DeleteJson(kPodPlacementWorks, kWork);
    After(1s);
  }
}

TEST_F(AgentTest, ChangesOfOthersAreRevertedAndRemovedObjectsComeBack) {
  CreateWork({Config()});
  SetVerbosity("Trace");
  After(5s);
  EXPECT_EQ((*Member(kCppc, kConfig))["spec"]["logVerbosity"], "Normal");
  member_.DeleteJson(kCppc, kConfig);
  After(5s);
  EXPECT_TRUE(Member(kCppc, kConfig));
}

TEST_F(AgentTest, ObjectsThatLeftTheWorkArePruned) {
  member_.CreateJson(kPpc, Ppc("foreign"));
  CreateWork({Ppc("a"), Ppc("b")});
  ASSERT_TRUE(Member(kPpc, {"ns", "b"}));
  ChangeWork({{"hash", "h2"}, {"objects", {Ppc("a")}}});
  EXPECT_TRUE(Member(kPpc, {"ns", "a"}));
  EXPECT_FALSE(Member(kPpc, {"ns", "b"}));
  EXPECT_TRUE(Member(kPpc, {"ns", "foreign"}));
}

TEST_F(AgentTest, AnInvalidWorkPrunesNothing) {
  CreateWork({Ppc("a")});
  ChangeWork({{"hash", "h2"}, {"objects", {7}}});
  EXPECT_EQ(Answer(), "Failed InvalidWork h2");
  EXPECT_TRUE(Member(kPpc, {"ns", "a"}));
}

TEST_F(AgentTest, MissingNamespacesAndKindsAreNamed) {
  struct Row {
    const char* name;
    bool with_namespace;
    const char* answer;
  };
  const Row rows[] = {{"a", false, "Failed NamespaceNotFound"},
                      {"b", true, "Failed OperatorNotInstalled"}};
  for (const Row& row : rows) {
    if (row.with_namespace) member_.CreateJson(kube::kNamespaces, MakeNamespace("ns"));
    // The call fails twice, because the answer wakes the work again.
    member_.FailNext(Error::FromHttpStatus(404, "NotFound", "not found"), "PATCH", 2);
    CreateWork({Ppc(row.name)});
    EXPECT_EQ(Answer(), row.answer);
    // Once they exist, it is applied.
    After(61s);
    EXPECT_TRUE(Member(kPpc, {"ns", row.name}));
    hub_.DeleteJson(kPodPlacementWorks, kWork);
    After(5s);
    EXPECT_EQ(Answer(), "no work");
  }
}

TEST_F(AgentTest, ARefusedObjectFails) {
  member_.FailNext(Error::Invalid("spec.priority: too high"), "PATCH", 2);
  CreateWork({Ppc("web")});
  EXPECT_EQ(Answer(), "Failed ApplyFailed");
}

// An agent that keeps no work: it reads each from the hub.
class SmallAgentTest : public AgentTest {
 protected:
  SmallAgentTest() { options_.max_work_bytes = 1; }
};

TEST_F(SmallAgentTest, AppliesAnswersAndDeletesAllTheSame) {
  CreateWork({Config(), Ppc("web")});
  SetAvailable(kCppc, kConfig);
  SetAvailable(kPpc, {"ns", "web"});
  After(5s);
  EXPECT_EQ(Answer(), "Succeeded Succeeded");
  // Finalizers of others stay.
  Json work = *hub_.GetJson(kPodPlacementWorks, kWork);
  EXPECT_EQ(work["metadata"]["finalizers"], Json::array({std::string(kWorkFinalizer)}));
  work["metadata"]["finalizers"].push_back("another");
  hub_.UpdateJson(kPodPlacementWorks, work);
  int hub = Writes(hub_);
  After(60s);
  EXPECT_EQ(Writes(hub_), hub);

  // A change in the cluster is reverted, as its work is known by its uid.
  SetVerbosity("Trace");
  After(5s);
  EXPECT_EQ((*Member(kCppc, kConfig))["spec"]["logVerbosity"], "Normal");

  hub_.DeleteJson(kPodPlacementWorks, kWork);
  After(5s);
  EXPECT_FALSE(Member(kCppc, kConfig));
  EXPECT_EQ((*hub_.GetJson(kPodPlacementWorks, kWork))["metadata"]["finalizers"],
            Json::array({"another"}));
}

class FewWorksTest : public AgentTest {
 protected:
  FewWorksTest() { options_.max_works = 1; }
};

TEST_F(FewWorksTest, FurtherWorksAreLeftOut) {
  CreateWork({Config()});
  Json second = *hub_.GetJson(kPodPlacementWorks, kWork);
  second["metadata"] = {{"namespace", kWork.ns}, {"name", "team.second"}};
  second["spec"]["objects"] = Json::array({Ppc("second")});
  second.erase("status");
  hub_.CreateJson(kPodPlacementWorks, second);
  After(5s);
  EXPECT_TRUE(Member(kCppc, kConfig));
  EXPECT_FALSE(Member(kPpc, {"ns", "second"}));
}

// --- Deletion

TEST_F(AgentTest, DeletedWithItsObjects) {
  CreateWork({Config(), Ppc("web")});
  PatchConfig({{"metadata", {{"finalizers", {"operator"}}}}});
  After(5s);
  hub_.DeleteJson(kPodPlacementWorks, kWork);
  After(5s);
  EXPECT_FALSE(Member(kPpc, {"ns", "web"}));
  EXPECT_EQ(Answer(), "Progressing Deleting");

  // The operator has finished.
  PatchConfig({{"metadata", {{"finalizers", nullptr}}}});
  After(5s);
  EXPECT_FALSE(Member(kCppc, kConfig));
  EXPECT_EQ(Answer(), "no work");
}

// As the operator does. A deletion of the ClusterPodPlacementConfig alone is refused for good while
// the cluster has PodPlacementConfigs of its own.
TEST_F(AgentTest, TheClusterConfigIsDeletedAfterThePodPlacementConfigs) {
  int refused = 0;
  member_.BeforeEach([&](const std::string& call) {
    bool deletes = call.starts_with("DELETE ") && call.find("/cluster") != std::string::npos;
    if (!deletes || member_.ListJson(kPpc).empty()) return;
    ++refused;
    member_.FailNext(Error::PermissionDenied("PodPlacementConfigs exist"), "DELETE ");
  });
  CreateWork({Config(), Ppc("web")});
  member_.PatchJson(kPpc, {"ns", "web"}, {{"metadata", {{"finalizers", {"operator"}}}}});
  After(5s);
  hub_.DeleteJson(kPodPlacementWorks, kWork);
  After(5s);
  EXPECT_EQ(Answer(), "Progressing Deleting");
  member_.PatchJson(kPpc, {"ns", "web"}, {{"metadata", {{"finalizers", nullptr}}}});
  After(5s);
  EXPECT_EQ(Answer(), "no work");
  EXPECT_FALSE(Member(kCppc, kConfig));
  EXPECT_EQ(refused, 0);

  // An object that leaves the work.
  member_.CreateJson(kPpc, Ppc("foreign"));
  CreateWork({Config(), Ppc("web")});
  ChangeWork({{"hash", "h2"}, {"objects", {Ppc("web")}}});
  EXPECT_EQ(Answer(), "Progressing Progressing h2") << "web is not Available yet";
  EXPECT_TRUE(Member(kCppc, kConfig));
  SetAvailable(kPpc, {"ns", "web"});
  After(5s);
  EXPECT_EQ(Answer(), "Progressing Deleting h2");
  EXPECT_GT(refused, 0);
  hub_.DeleteJson(kPodPlacementWorks, kWork);
  After(5s);
  EXPECT_EQ(Answer(), "Progressing Deleting h2") << "foreign is still there";
  member_.DeleteJson(kPpc, {"ns", "foreign"});
  After(15s);
  EXPECT_EQ(Answer(), "no work");
  EXPECT_FALSE(Member(kCppc, kConfig));
  member_.BeforeEach({});
}

TEST_F(AgentTest, DeletedWithoutItsObjects) {
  CreateWork({Config()}, {{"deletionPolicy", "Orphan"}});
  hub_.DeleteJson(kPodPlacementWorks, kWork);
  After(5s);
  EXPECT_EQ(Answer(), "no work");
  std::optional<Json> config = Member(kCppc, kConfig);
  ASSERT_TRUE(config);
  EXPECT_EQ(WorkUidOf(*config), "");
  EXPECT_EQ((*config)["spec"]["logVerbosity"], "Normal");
  // Now the object belongs to no work.
  CreateWork({Config("Debug")});
  EXPECT_EQ(Answer(), "Failed Conflict");
}

TEST_F(AgentTest, AWorkOfARestoredHubTakesOver) {
  CreateWork({Config()});
  Json work = *hub_.GetJson(kPodPlacementWorks, kWork);
  Stop();
  // The hub is new, so the uid of the work differs.
  work["metadata"].erase("finalizers");
  hub_.UpdateJson(kPodPlacementWorks, work);
  hub_.DeleteJson(kPodPlacementWorks, kWork);
  Start();
  EXPECT_TRUE(Member(kCppc, kConfig));
  CreateWork({Config("Debug")});
  EXPECT_EQ((*Member(kCppc, kConfig))["spec"]["logVerbosity"], "Debug");
  EXPECT_EQ(Answer(), "Progressing Progressing");
}

// --- Outages

TEST_F(AgentTest, WhileTheHubIsAwayTheClusterStaysAsItWas) {
  CreateWork({Config()});
  hub_.Stop();
  After(120s);
  SetVerbosity("Trace");
  After(5s);
  EXPECT_EQ((*Member(kCppc, kConfig))["spec"]["logVerbosity"], "Normal");

  hub_.Start();
  int renewals = hub_.CountCalls("/leases/");
  After(61s);
  EXPECT_GT(hub_.CountCalls("/leases/"), renewals);
  ChangeWork({{"hash", "h2"}, {"objects", {Config("Debug")}}});
  EXPECT_EQ((*Member(kCppc, kConfig))["spec"]["logVerbosity"], "Debug");
}

TEST_F(AgentTest, WhileTheMemberIsAwayTheHubIsTold) {
  CreateWork({Config()});
  SetAvailable(kCppc, kConfig);
  After(10s);
  EXPECT_EQ(AvailableCondition(), "True");
  Json capacity = (*hub_.GetJson(kManagedClusters, kCluster))["status"]["capacity"];
  member_.Stop();
  After(140s);
  EXPECT_EQ(AvailableCondition(), "False");
  EXPECT_EQ(Answer(), "Succeeded Succeeded");
  EXPECT_EQ((*hub_.GetJson(kManagedClusters, kCluster))["status"]["capacity"], capacity);
  // A new hash has not succeeded yet.
  ChangeWork({{"hash", "h2"}});
  EXPECT_EQ(Answer(), "Progressing MemberUnavailable h2");
  // The scores of a cluster that cannot be seen expire.
  int scores = hub_.CountCalls("/addonplacementscores/");
  After(600s);
  EXPECT_EQ(hub_.CountCalls("/addonplacementscores/"), scores);

  member_.Start();
  After(70s);
  EXPECT_EQ(AvailableCondition(), "True");
  EXPECT_EQ(Answer(), "Succeeded Succeeded h2");
  EXPECT_GT(hub_.CountCalls("/addonplacementscores/"), scores);
}

// --- What is published

TEST_F(AgentTest, PublishesTheClusterAndKeepsClaimsOfOthers) {
  Json cluster = *hub_.GetJson(kManagedClusters, kCluster);
  EXPECT_EQ(cluster["status"]["capacity"]["cpu"], "128");
  cluster["status"]["clusterClaims"].push_back({{"name", "id.k8s.io"}, {"value", "x"}});
  hub_.UpdateJson(kManagedClusters, cluster);
  AddNode("n2", "amd64", "4");
  After(11s);
  cluster = *hub_.GetJson(kManagedClusters, kCluster);
  EXPECT_EQ(cluster["status"]["capacity"]["cpu"], "132");
  EXPECT_EQ(cluster["status"]["clusterClaims"],
            kube::MustParseJson(R"([{"name": "id.k8s.io", "value": "x"},
                            {"name": "amd64.multiarch.openshift.io", "value": "true"},
                            {"name": "arm64.multiarch.openshift.io", "value": "true"}])"));
}

TEST_F(AgentTest, TheLeaseIsRenewedAsOftenAsTheHubSays) {
  ObjectKey lease{"c1", std::string(kClusterLease)};
  ASSERT_TRUE(hub_.GetJson(kube::kLeases, lease));
  hub_.PatchJson(kManagedClusters, kCluster, {{"spec", {{"leaseDurationSeconds", 10}}}});
  After(60s);
  Json before = *hub_.GetJson(kube::kLeases, lease);
  EXPECT_EQ(before["spec"]["leaseDurationSeconds"], 10);
  EXPECT_THAT(before["spec"]["renewTime"].get<std::string>(),
              testing::MatchesRegex("2026-.*T.*:.*:..\\.000000Z"));
  After(11s);
  EXPECT_NE((*hub_.GetJson(kube::kLeases, lease))["spec"]["renewTime"],
            before["spec"]["renewTime"]);
}

TEST_F(AgentTest, ScoresAreWrittenOnAMoveBy5OrAtHalfOfTheirValidity) {
  After(10s);
  EXPECT_EQ(Score("arm64.cpu"), 50);
  EXPECT_EQ(Score("arm64.share"), 100);
  int writes = hub_.CountCalls("PATCH /apis/cluster.open-cluster-management.io/v1alpha1");
  auto more = [&] {
    int before = writes;
    writes = hub_.CountCalls("PATCH /apis/cluster.open-cluster-management.io/v1alpha1");
    return writes - before;
  };
  // The score moves by 4 of 100.
  AddPod("small", "10240m");
  // The workload that it is, is runnable nowhere: no score moves by that.
  After(20s);
  EXPECT_EQ(more(), 0);
  AddPod("more", "3");
  After(20s);
  EXPECT_EQ(more(), 1);
  EXPECT_EQ(Score("arm64.cpu"), 44);
  member_.DeleteJson(kube::kPods, {"ns", "more"});
  member_.DeleteJson(kube::kPods, {"ns", "small"});
  After(20s);
  EXPECT_EQ(more(), 1);
  EXPECT_EQ(Score("arm64.cpu"), 50);
  After(420s);
  EXPECT_EQ(more(), 0);
  After(60s);
  EXPECT_EQ(more(), 1);
  // A user deletes it.
  hub_.DeleteJson(kAddOnPlacementScores, kScore);
  After(460s);
  EXPECT_EQ(Score("arm64.cpu"), 50);
}

}  // namespace
}  // namespace fleet
