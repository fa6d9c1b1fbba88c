// SPDX-License-Identifier: Apache-2.0
// Join and Leave, on a hub and a member that are fake API servers.
#include "fleet/standalone/deploy/join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fleet/agent/work_objects.h"
#include "fleet/api/managed_cluster.h"
#include "fleet/api/pod_placement_work.h"
#include "fleet/standalone/access/agent_access.h"
#include "fleet/standalone/deploy/leave.h"
#include "fleet/testing/make_object.h"
#include "kube/base/base64.h"
#include "kube/testing/advancing_clock.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/types/kinds.h"

namespace fleet {
namespace {

using kube::Code;
using kube::Json;
using kube::ObjectKey;
using kube::Resource;
using kube::Result;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

constexpr char kToken[] = "eyJ-the-token";
const ObjectKey kSecretKey{"member", "multiarch-fleet-hub"};

// A hub that also answers TokenRequests.
class FakeHub final : public kube::Client {
 public:
  kube::Async<kube::ApiResponse> Call(kube::ApiRequest request) override {
    if (!request.target.ends_with("/serviceaccounts/multiarch-fleet-agent/token"))
      co_return co_await api.Call(std::move(request));
    ++token_requests;
    Json answer = {
        {"status", {{"token", kToken}, {"expirationTimestamp", "2026-01-08T00:00:00Z"}}}};
    kube::ApiResponse response{
        .status = 201, .content_type = "application/json", .body = kube::DumpJson(answer)};
    co_return response;
  }
  kube::Async<std::unique_ptr<kube::WatchStream>> Watch(kube::ApiRequest request) override {
    co_return co_await api.Watch(std::move(request));
  }

  kube::FakeApiServer api;
  int token_requests = 0;
};

class JoinTest : public testing::Test {
 protected:
  JoinTest() {
    agent_.emplace_back(MakeNamespace("member"));
    for (const Resource& resource : {kube::kServiceAccounts, kube::kDeployments})
      agent_.emplace_back(MakeObject(resource, "member", "multiarch-fleet-agent"));
  }
  void CreateHub(const std::string& membership) {
    Json hub = {{"name", "hub"}, {"args", Json::array({"--membership=" + membership})}};
    hub_.api.CreateJson(kube::kDeployments,
                        MakeObject(kube::kDeployments, "multiarch-fleet", "multiarch-fleet-hub")
                            .Set("/spec/template/spec/containers", Json::array({hub})));
  }
  // What the hub does with membership of its own, or OCM.
  void GiveAccess() {
    for (size_t i = 0; i < kAgentAccessResources.size(); ++i)
      hub_.api.CreateJson(kAgentAccessResources[i], AgentAccess("c1")[i]);
  }
  JoinOptions Options() {
    return {.cluster = "c1",
            .hub_namespace = "multiarch-fleet",
            .labels = {{"region", "eu"}},
            .hub_kubeconfig = "the kubeconfig",
            .agent = agent_,
            .timeout = 20s,
            .wait = false};
  }
  Result<> RunJoin(JoinOptions options) {
    testing::internal::CaptureStdout();
    Result<> joined = kube::Run(io_, Join(hub_, member_, clock_, std::move(options)));
    output_ = testing::internal::GetCapturedStdout();
    return joined;
  }
  Result<> RunLeave(bool delete_objects) {
    LeaveOptions options{
        .cluster = "c1", .agent = agent_, .delete_objects = delete_objects, .timeout = 20s};
    return kube::Run(io_, Leave(hub_, member_, clock_, std::move(options)));
  }
  bool OnHub(const Resource& resource, const ObjectKey& key) {
    return hub_.api.GetJson(resource, key).has_value();
  }
  std::string InSecret(const std::string& key) {
    std::optional<Json> secret = member_.GetJson(kube::kSecrets, kSecretKey);
    if (!secret) return "";
    return kube::Base64Decode(kube::StringAt(*secret, "data." + key)).value();
  }

  boost::asio::io_context io_;
  kube::AdvancingClock clock_;
  FakeHub hub_;
  kube::FakeApiServer member_;
  std::vector<kube::Unstructured> agent_;
  std::string output_;
};

TEST_F(JoinTest, OnAHubOfOcmAcceptsGivesAccessAndInstalls) {
  CreateHub("ocm");
  ASSERT_THAT(RunJoin(Options()), kube::IsOk());
  Json cluster = *hub_.api.GetJson(kManagedClusters, {"", "c1"});
  EXPECT_TRUE(kube::BoolAt(cluster, "spec.hubAcceptsClient"));
  EXPECT_EQ(kube::StringAt(cluster, "metadata.labels.region"), "eu");
  EXPECT_TRUE(OnHub(kube::kNamespaces, {"", "c1"}));
  EXPECT_TRUE(OnHub(kube::kServiceAccounts, {"c1", "multiarch-fleet-agent"}));
  EXPECT_TRUE(OnHub(kube::kRoleBindings, {"c1", "multiarch-fleet-agent"}));
  EXPECT_TRUE(OnHub(kube::kClusterRoleBindings, {"", "multiarch-fleet-agent:c1"}));
  EXPECT_EQ(InSecret("token"), kToken);
  EXPECT_EQ(InSecret("kubeconfig"), "the kubeconfig");
  EXPECT_EQ(InSecret("cluster-name"), "c1");
  EXPECT_TRUE(member_.GetJson(kube::kDeployments, {"member", "multiarch-fleet-agent"}));
  EXPECT_THAT(output_, HasSubstr("c1 has an agent"));
  EXPECT_THAT(output_, Not(HasSubstr(kToken)));
  EXPECT_THAT(output_, Not(HasSubstr(kube::Base64Encode(kToken))));

  // A second join creates nothing twice; the agent has a new token.
  ASSERT_THAT(RunJoin(Options()), kube::IsOk());
  EXPECT_EQ(hub_.token_requests, 2);
}

TEST_F(JoinTest, WritesOnlyTheSecretForAnAgentOfKustomize) {
  CreateHub("ocm");
  JoinOptions options = Options();
  options.install_agent = false;
  options.wait = true;  // for what it writes; that agent may be installed later
  ASSERT_THAT(RunJoin(std::move(options)), kube::IsOk());
  EXPECT_EQ(InSecret("token"), kToken);
  EXPECT_THAT(output_, HasSubstr("the Secret for the agent of c1"));
  EXPECT_TRUE(member_.GetJson(kube::kNamespaces, {"", "member"}));
  EXPECT_FALSE(member_.GetJson(kube::kDeployments, {"member", "multiarch-fleet-agent"}));
}

TEST_F(JoinTest, WithMembershipOfItsOwnTheHubGivesAccess) {
  CreateHub("own");
  hub_.api.BeforeEach([this](const std::string& call) {
    if (!call.starts_with("POST ") || call.find("/managedclusters") == std::string::npos) return;
    GiveAccess();
  });
  ASSERT_THAT(RunJoin(Options()), kube::IsOk());
  EXPECT_EQ(InSecret("token"), kToken);
  EXPECT_EQ(hub_.api.CountCalls("PATCH "), 0) << "the tool writes no access itself";
}

TEST_F(JoinTest, SaysThatTheHubGaveNoAccess) {
  CreateHub("own");
  EXPECT_THAT(RunJoin(Options()),
              kube::FailsWith(Code::kDeadlineExceeded, HasSubstr("ManagedCluster c1")));
  EXPECT_EQ(member_.CountCalls("PATCH "), 0) << "nothing is installed";
}

TEST_F(JoinTest, AcceptsAClusterThatHasRegisteredItself) {
  CreateHub("ocm");
  hub_.api.CreateJson(
      kManagedClusters,
      MakeManagedCluster("c1").Label("vendor", "x").Set("/spec/hubAcceptsClient", false));
  ASSERT_THAT(RunJoin(Options()), kube::IsOk());
  Json stored = *hub_.api.GetJson(kManagedClusters, {"", "c1"});
  EXPECT_TRUE(kube::BoolAt(stored, "spec.hubAcceptsClient"));
  EXPECT_EQ(kube::StringAt(stored, "metadata.labels.vendor"), "x");
}

TEST_F(JoinTest, AForeignNamespaceIsNoMembers) {
  CreateHub("ocm");
  hub_.api.CreateJson(kube::kNamespaces, MakeNamespace("c1"));
  EXPECT_THAT(RunJoin(Options()), kube::FailsWith(Code::kAlreadyExists, HasSubstr("another name")));
  EXPECT_FALSE(OnHub(kube::kRoleBindings, {"c1", "multiarch-fleet-agent"}));
}

TEST_F(JoinTest, RefusesBeforeItWrites) {
  EXPECT_THAT(RunJoin(Options()), kube::FailsWith(Code::kNotFound, HasSubstr("deploy-hub")));
  CreateHub("ocm");
  JoinOptions reserved = Options();
  reserved.cluster = "kube-system";
  EXPECT_THAT(RunJoin(std::move(reserved)), kube::FailsWith(Code::kInvalid, HasSubstr("reserved")));
  member_.CreateJson(kube::kSecrets, MakeObject(kube::kSecrets, kSecretKey.ns, kSecretKey.name)
                                         .Set("/data/cluster-name", kube::Base64Encode("c7")));
  EXPECT_THAT(RunJoin(Options()), kube::FailsWith(Code::kAlreadyExists, HasSubstr("c7")));
  EXPECT_FALSE(OnHub(kManagedClusters, {"", "c1"}));
  EXPECT_EQ(hub_.token_requests, 0);
}

TEST_F(JoinTest, WaitsUntilTheAgentHasPublished) {
  CreateHub("ocm");
  JoinOptions options = Options();
  options.wait = true;
  // Rolled out.
  member_.CreateJson(kube::kDeployments,
                     MakeObject(kube::kDeployments, "member", "multiarch-fleet-agent")
                         .Set("/spec/replicas", 0)
                         .Set("/status/observedGeneration", 100));
  EXPECT_THAT(RunJoin(options), kube::FailsWith(Code::kDeadlineExceeded, HasSubstr("its log")));
  Json available = {{"type", "ManagedClusterConditionAvailable"}, {"status", "True"}};
  hub_.api.PatchJson(kManagedClusters, {"", "c1"},
                     {{"status", {{"conditions", Json::array({available})}}}});
  EXPECT_THAT(RunJoin(options), kube::IsOk());
  EXPECT_THAT(output_, HasSubstr("c1 is a member"));
}

class LeaveTest : public JoinTest {
 protected:
  void SetUp() override {
    CreateHub("ocm");
    ASSERT_THAT(RunJoin(Options()), kube::IsOk());
    hub_.api.CreateJson(kPodPlacementWorks, MakeWork("c1").Finalizer(kWorkFinalizer));
    member_.CreateJson(kPpc, MakeConfig("team", "web").Label(kWorkUidLabel, "uid"));
    member_.CreateJson(kPpc, MakeConfig("team", "of-the-member"));
  }
  void ExpectGone() {
    EXPECT_FALSE(OnHub(kManagedClusters, {"", "c1"}));
    for (const Resource& resource : kAgentAccessResources)
      EXPECT_TRUE(hub_.api.ListJson(resource).empty()) << resource.kind;
    EXPECT_FALSE(OnHub(kPodPlacementWorks, {"c1", "team.web"}));
    EXPECT_FALSE(member_.GetJson(kube::kSecrets, kSecretKey));
    EXPECT_FALSE(member_.GetJson(kube::kDeployments, {"member", "multiarch-fleet-agent"}));
    EXPECT_TRUE(OnHub(kube::kDeployments, {"multiarch-fleet", "multiarch-fleet-hub"}));
    EXPECT_TRUE(member_.GetJson(kPpc, {"team", "of-the-member"}));
  }
  const Resource& kPpc = AppliedKinds().back();
};

TEST_F(LeaveTest, KeepsWhatIsRolledOut) {
  ASSERT_THAT(RunLeave(false), kube::IsOk());
  ExpectGone();
  EXPECT_TRUE(member_.GetJson(kPpc, {"team", "web"}));
  EXPECT_THAT(RunLeave(false), kube::IsOk()) << "a second time, nothing is there";
}

TEST_F(LeaveTest, DeletesWhatIsRolledOutIfAsked) {
  ASSERT_THAT(RunLeave(true), kube::IsOk());
  ExpectGone();
  EXPECT_FALSE(member_.GetJson(kPpc, {"team", "web"}));
}

// The operator refuses to delete the ClusterPodPlacementConfig while PodPlacementConfigs exist.
TEST_F(LeaveTest, DeletesTheClusterConfigLast) {
  const Resource& cppc = AppliedKinds().front();
  member_.CreateJson(cppc, MakeClusterConfig().Label(kWorkUidLabel, "uid"));
  bool web_is_gone = false;
  member_.BeforeEach([&](const std::string& call) {
    if (!call.starts_with("DELETE ") || !call.ends_with("/cluster")) return;
    web_is_gone = !member_.GetJson(kPpc, {"team", "web"});
  });
  ASSERT_THAT(RunLeave(true), kube::IsOk());
  EXPECT_TRUE(web_is_gone);
  EXPECT_FALSE(member_.GetJson(cppc, {"", "cluster"}));
}

TEST_F(LeaveTest, TheAgentEndsBeforeTheHubForgetsTheCluster) {
  bool agent_is_gone = false;
  hub_.api.BeforeEach([&](const std::string& call) {
    if (!call.starts_with("DELETE ")) return;
    agent_is_gone = !member_.GetJson(kube::kDeployments, {"member", "multiarch-fleet-agent"});
  });
  ASSERT_THAT(RunLeave(false), kube::IsOk());
  EXPECT_TRUE(agent_is_gone);
}

TEST_F(LeaveTest, AMemberByAnotherNameStays) {
  member_.PatchJson(kube::kSecrets, kSecretKey,
                    {{"data", {{"cluster-name", kube::Base64Encode("c7")}}}});
  EXPECT_THAT(RunLeave(false), kube::FailsWith(Code::kAlreadyExists, HasSubstr("c7")));
  EXPECT_TRUE(OnHub(kManagedClusters, {"", "c1"}));
}

}  // namespace
}  // namespace fleet
