// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/operator/policy_webhooks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/testing/make_config.h"
#include "kube/client/client.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/types/core.pb.h"
#include "kube/types/kinds.h"
#include "scheduling-policies/operator/cross_namespace_quota.h"
#include "scheduling-policies/testing/specs.h"

namespace operator_ {
namespace {

using kube::AdmissionRequest;
using kube::AdmissionResponse;
using kube::Json;
using kube::Result;
using policy::Scope;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr char kAntiAffinity[] =
    R"({"podSelector": {}, "namespaceSelector": {}, "affinity": {"podAntiAffinity":
        {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone",
         "labelSelector": {"matchLabels": {"app": "db"}}, "namespaces": ["farm"]}]}}})";

Json Policy(const std::string& spec) {
  Json policy = {{"metadata", {{"name", "p"}, {"generation", 1}}}};
  if (!spec.empty()) policy["spec"] = kube::MustParseJson(spec);
  return policy;
}

Json Quota(const std::string& ns, const std::string& name, Json hard, Json used = nullptr) {
  Json quota = {{"apiVersion", "v1"},
                {"kind", "ResourceQuota"},
                {"metadata", {{"name", name}, {"namespace", ns}}}};
  quota["spec"]["hard"] = hard;
  quota["spec"]["scopeSelector"]["matchExpressions"] =
      Json::array({{{"scopeName", "CrossNamespacePodAffinity"}, {"operator", "Exists"}}});
  if (!used.is_null()) quota["status"] = {{"hard", std::move(hard)}, {"used", std::move(used)}};
  return quota;
}

// The fake API server, with tables: one row, and the number of further policies.
class TableClient final : public kube::Client {
 public:
  explicit TableClient(kube::Client& client) : client_(client) {}

  kube::Async<kube::ApiResponse> Call(kube::ApiRequest request) override {
    if (request.target.find("/podschedulingpolicies?limit=1&includeObject=None") ==
        std::string::npos) {
      co_return co_await client_.Call(std::move(request));
    }
    ++tables;
    if (fails) co_return kube::Error::Unavailable("503");
    Json table = {{"kind", "Table"}, {"rows", Json::array()}};
    if (policies > 0) table["rows"].push_back({{"cells", {"p"}}});
    if (policies > 1) table["metadata"]["remainingItemCount"] = policies - 1;
    co_return kube::ApiResponse{
        .status = 200, .content_type = std::string(kube::kJson), .body = kube::DumpJson(table)};
  }
  kube::Async<std::unique_ptr<kube::WatchStream>> Watch(kube::ApiRequest request) override {
    return client_.Watch(std::move(request));
  }

  int policies = 0;
  bool fails = false;
  int tables = 0;

 private:
  kube::Client& client_;
};

class PolicyWebhooksTest : public testing::Test {
 protected:
  void SetUp() override { Enable(true); }

  void Enable(bool enabled) {
    api::MakeClusterConfig make;
    Json config = make.Set("/spec/plugins/schedulingPolicies/enabled", enabled).Build();
    constexpr kube::Resource kKind = kube::ResourceOf<api::ClusterPodPlacementConfig>::value;
    api_.GetJson(kKind, {"", "cluster"}) ? api_.UpdateJson(kKind, config)
                                         : api_.CreateJson(kKind, config);
  }
  void MakeNamespace(const std::string& name, const std::string& team = "") {
    kube::core::Namespace ns;
    ns.mutable_metadata()->set_name(name);
    if (!team.empty()) (*ns.mutable_metadata()->mutable_labels())["team"] = team;
    api_.Create(ns);
  }
  void MakeQuota(const Json& quota) { api_.CreateJson(kube::kResourceQuotas, quota); }

  AdmissionResponse Ask(Scope scope, const char* operation, const Json& object,
                        const Json& old_object = nullptr) {
    AdmissionRequest request;
    request.operation = operation;
    if (scope == Scope::kNamespace) request.ns = ns_;
    request.object_json = object.is_null() ? "" : kube::DumpJson(object);
    request.old_object_json = old_object.is_null() ? "" : kube::DumpJson(old_object);
    Result<AdmissionResponse> response =
        kube::Run(io_, webhooks_.Validate(scope, std::move(request)));
    EXPECT_THAT(response, kube::IsOk());
    return response ? *response : AdmissionResponse::Errored(500, "");
  }
  AdmissionResponse Create(Scope scope, const std::string& spec) {
    return Ask(scope, "CREATE", Policy(spec));
  }

  std::string ns_ = "shop";
  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  TableClient client_{api_};
  PolicyWebhooks webhooks_{client_, clock_, "ops"};
};

TEST_F(PolicyWebhooksTest, WhatIsWrongIsRefusedWithItsField) {
  for (const policy::WrongSpec& wrong : policy::WrongSpecs()) {
    AdmissionResponse answer = Create(Scope::kCluster, wrong.spec);
    EXPECT_FALSE(answer.allowed()) << wrong.spec;
    EXPECT_EQ(answer.code(), 422) << wrong.spec;
    EXPECT_EQ(answer.reason(), "Invalid");
    EXPECT_THAT(answer.message(), HasSubstr(wrong.field)) << wrong.spec;
    EXPECT_THAT(answer.message(), HasSubstr(wrong.message)) << wrong.spec;
  }
  EXPECT_THAT(api_.calls(), IsEmpty());
}

TEST_F(PolicyWebhooksTest, WhatIsRightIsAccepted) {
  for (const std::string& right : policy::RightSpecs()) {
    EXPECT_TRUE(Create(Scope::kCluster, right).allowed()) << right;
    EXPECT_TRUE(Create(Scope::kNamespace, right).allowed()) << right;
  }
  EXPECT_TRUE(Create(Scope::kNamespace, "").allowed());
}

// Each costs memory in every process, however small it is.
TEST_F(PolicyWebhooksTest, TheNumberOfPoliciesOfANamespaceIsLimited) {
  const std::string spec = R"({"podSelector": {}, "nodeName": "node"})";
  for (int policies : {0, 1, 255}) {
    client_.policies = policies;
    EXPECT_TRUE(Create(Scope::kNamespace, spec).allowed()) << policies;
  }
  client_.policies = 256;
  AdmissionResponse answer = Create(Scope::kNamespace, spec);
  EXPECT_FALSE(answer.allowed());
  EXPECT_EQ(answer.code(), 422);
  EXPECT_THAT(answer.message(),
              HasSubstr("namespace shop has 256 PodSchedulingPolicies, at most 256 are allowed"));
  EXPECT_EQ(client_.tables, 4);

  // What exists can be changed, and admins write those of the cluster.
  Json changed = Policy(R"({"nodeName": "other"})");
  EXPECT_TRUE(Ask(Scope::kNamespace, "UPDATE", changed, Policy(spec)).allowed());
  EXPECT_TRUE(Create(Scope::kCluster, spec).allowed());
  EXPECT_EQ(client_.tables, 4);
}

TEST_F(PolicyWebhooksTest, WithoutTheCountNoPolicyIsCreated) {
  client_.fails = true;
  AdmissionRequest request;
  request.operation = "CREATE";
  request.ns = ns_;
  request.object_json = kube::DumpJson(Policy(R"({"podSelector": {}})"));
  EXPECT_THAT(kube::Run(io_, webhooks_.Validate(Scope::kNamespace, std::move(request))),
              kube::FailsWith(kube::Code::kUnavailable));
}

TEST_F(PolicyWebhooksTest, AnUpdateIsCheckedOnlyIfItChangesTheSpec) {
  const Json wrong = Policy(R"({"nodeName": "Node"})");
  const Json right = Policy(R"({"nodeName": "node"})");
  EXPECT_FALSE(Ask(Scope::kCluster, "UPDATE", wrong, right).allowed());
  EXPECT_TRUE(Ask(Scope::kCluster, "UPDATE", right, wrong).allowed());
  size_t calls = api_.calls().size();

  Json labelled = wrong;
  labelled["metadata"]["labels"]["a"] = "b";
  labelled["status"]["observedGeneration"] = 1;
  AdmissionResponse answer = Ask(Scope::kCluster, "UPDATE", labelled, wrong);
  EXPECT_TRUE(answer.allowed());
  EXPECT_THAT(answer.warnings(), IsEmpty());

  // A finalizer must be removable.
  Json deleted = wrong;
  deleted["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  EXPECT_TRUE(Ask(Scope::kCluster, "UPDATE", deleted, right).allowed());
  EXPECT_TRUE(Ask(Scope::kCluster, "DELETE", nullptr, wrong).allowed());
  EXPECT_EQ(api_.calls().size(), calls) << "nothing is read for these";
}

TEST_F(PolicyWebhooksTest, WhatIsNoObjectIsRefused) {
  for (const char* text : {"", "[", "7", "[]"}) {
    AdmissionRequest request;
    request.operation = "CREATE";
    request.object_json = text;
    Result<AdmissionResponse> answer = kube::Run(io_, webhooks_.Validate(Scope::kCluster, request));
    ASSERT_THAT(answer, kube::IsOk());
    EXPECT_EQ(answer->code(), 422) << text;
    request.operation = "UPDATE";
    request.object_json = "{}";
    request.old_object_json = text;
    answer = kube::Run(io_, webhooks_.Validate(Scope::kCluster, request));
    ASSERT_THAT(answer, kube::IsOk()) << text;
  }
}

TEST_F(PolicyWebhooksTest, WarnsOfWhatHasNoEffect) {
  const std::string spec = R"({"podSelector": {}, "nodeName": "node"})";
  EXPECT_THAT(Create(Scope::kNamespace, spec).warnings(), IsEmpty());
  EXPECT_THAT(Create(Scope::kCluster, spec).warnings(),
              ElementsAre(HasSubstr("spec.namespaceSelector is absent")));
  ns_ = "kube-system";
  EXPECT_THAT(Create(Scope::kNamespace, spec).warnings(),
              ElementsAre(HasSubstr("no effect in namespace kube-system")));
  ns_ = "ops";
  EXPECT_THAT(Create(Scope::kNamespace, spec).warnings(), SizeIs(1));
  ns_ = "shop";

  Enable(false);
  EXPECT_THAT(Create(Scope::kNamespace, spec).warnings(),
              ElementsAre(HasSubstr("plugins.schedulingPolicies")));
  api_.DeleteJson(kube::ResourceOf<api::ClusterPodPlacementConfig>::value, {"", "cluster"});
  EXPECT_THAT(Create(Scope::kNamespace, spec).warnings(),
              ElementsAre(HasSubstr("plugins.schedulingPolicies")));
  api_.FailNext(kube::Error::Unavailable("503"));
  EXPECT_THAT(Create(Scope::kNamespace, spec).warnings(), IsEmpty()) << "it is not known";
}

TEST_F(PolicyWebhooksTest, WarnsIfTheNamespaceHasNoRoomForItsPods) {
  MakeQuota(Quota("shop", "none", {{"pods", "0"}}));
  MakeQuota(Quota("farm", "none", {{"pods", "0"}}));
  AdmissionResponse answer = Create(Scope::kNamespace, kAntiAffinity);
  EXPECT_TRUE(answer.allowed());
  EXPECT_THAT(answer.warnings(),
              ElementsAre(testing::AllOf(HasSubstr("in namespace shop"),
                                         HasSubstr("ResourceQuota none has no room"),
                                         HasSubstr("pods: 0 of 0 used"))));
  EXPECT_EQ(api_.CountCalls("/api/v1/namespaces/shop/resourcequotas"), 1);
  EXPECT_EQ(api_.CountCalls("resourcequotas"), 1);

  // Terms about pods of the same namespace do not count, nor does a policy that selects nothing.
  Json spec = kube::MustParseJson(kAntiAffinity);
  spec.erase("podSelector");
  EXPECT_THAT(Create(Scope::kNamespace, kube::DumpJson(spec)).warnings(), SizeIs(1));
  EXPECT_EQ(api_.CountCalls("resourcequotas"), 1);
  spec = kube::MustParseJson(kAntiAffinity);
  spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0].erase(
      "namespaces");
  EXPECT_THAT(Create(Scope::kNamespace, kube::DumpJson(spec)).warnings(), IsEmpty());
  EXPECT_EQ(api_.CountCalls("resourcequotas"), 1);
}

TEST_F(PolicyWebhooksTest, AClusterPolicyNamesThreeOfTheSelectedNamespaces) {
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    MakeNamespace(name, std::string(name) == "b" ? "other" : "db");
    MakeQuota(Quota(name, "first", {{"pods", "0"}}));
    MakeQuota(Quota(name, "second", {{"pods", "0"}}));
  }
  MakeNamespace("free", "db");
  MakeNamespace("kube-system", "db");
  MakeQuota(Quota("kube-system", "none", {{"pods", "0"}}));
  MakeQuota(Quota("gone", "none", {{"pods", "0"}}));
  Json spec = kube::MustParseJson(kAntiAffinity);
  spec["namespaceSelector"]["matchLabels"]["team"] = "db";
  EXPECT_THAT(
      Create(Scope::kCluster, kube::DumpJson(spec)).warnings(),
      ElementsAre(HasSubstr("namespace a:"), HasSubstr("namespace c:"), HasSubstr("namespace d:")));
  spec["namespaceSelector"]["matchLabels"]["team"] = "other";
  EXPECT_THAT(Create(Scope::kCluster, kube::DumpJson(spec)).warnings(),
              ElementsAre(HasSubstr("namespace b:")));
}

TEST_F(PolicyWebhooksTest, AFailedReadOfQuotasIsAWarning) {
  MakeNamespace("shop");
  MakeQuota(Quota("shop", "none", {{"pods", "0"}}));
  api_.FailNext(kube::Error::FromHttpStatus(403, "Forbidden", "no right"), "resourcequotas");
  AdmissionResponse answer = Create(Scope::kCluster, kAntiAffinity);
  EXPECT_TRUE(answer.allowed());
  EXPECT_THAT(answer.warnings(), ElementsAre(HasSubstr("could be checked: no right")));
  api_.FailNext(kube::Error::Unavailable("namespace unknown"), "/api/v1/namespaces/shop");
  answer = Create(Scope::kCluster, kAntiAffinity);
  EXPECT_TRUE(answer.allowed());
  EXPECT_THAT(answer.warnings(), ElementsAre(HasSubstr("could be checked: namespace unknown")));
}

TEST_F(PolicyWebhooksTest, ReadsAreBoundedInTimeAndNumber) {
  for (int i = 0; i < 1200; ++i)
    MakeQuota(Quota("ns-" + std::to_string(i), "q", {{"pods", i < 60 ? "0" : "1"}}));
  AdmissionResponse answer = Create(Scope::kCluster, kAntiAffinity);
  EXPECT_THAT(answer.warnings(), ElementsAre(HasSubstr("could be checked: too many")));
  EXPECT_EQ(api_.CountCalls("/api/v1/namespaces/ns-"), 50);

  int before = api_.CountCalls("resourcequotas");
  api_.BeforeEach([this](const std::string& call) {
    if (call.find("resourcequotas") != std::string::npos) clock_.Advance(std::chrono::seconds(6));
  });
  answer = Create(Scope::kCluster, kAntiAffinity);
  EXPECT_TRUE(answer.allowed());
  EXPECT_THAT(answer.warnings(), ElementsAre(HasSubstr("could be checked")));
  EXPECT_EQ(api_.CountCalls("resourcequotas"), before + 1);
}

TEST(CrossNamespaceQuotaTest, AQuotaHasRoomOrNot) {
  struct Row {
    const char* hard;
    const char* used;  // "" without a status
    const char* used_up;
  };
  const Row rows[] = {
      {R"({"pods": "0"})", "", "pods: 0 of 0 used"},
      {R"({"pods": "1"})", "", ""},
      {R"({"pods": "1"})", R"({"pods": "0"})", ""},
      {R"({"pods": "1"})", R"({"pods": "1"})", "pods: 1 of 1 used"},
      {R"({"pods": "1"})", R"({"pods": "2"})", "pods: 2 of 1 used"},
      {R"({"pods": "9", "requests.cpu": "2"})", R"({"pods": "1", "requests.cpu": "1900m"})", ""},
      {R"({"pods": "9", "requests.cpu": "2"})", R"({"pods": "1", "requests.cpu": "2000m"})",
       "requests.cpu: 2000m of 2 used"},
      {R"({"memory": "1Gi"})", R"({"memory": "1023Mi"})", ""},
      {R"({"memory": "1Gi"})", R"({"memory": "1100M"})", "memory: 1100M of 1Gi used"},
      {R"({"memory": "1e9"})", R"({"memory": "1G"})", "memory: 1G of 1e9 used"},
      {R"({"pods": "many"})", R"({"pods": "1"})", ""},
      {R"({"pods": 0})", "", ""},
      {R"([])", R"(7)", ""},
  };
  for (const Row& row : rows) {
    std::string used = row.used;
    Json quota = Quota("shop", "q", kube::MustParseJson(row.hard),
                       used.empty() ? Json() : kube::MustParseJson(used));
    EXPECT_EQ(UsedUpForCrossNamespaceAffinity(quota), row.used_up) << quota;
  }
}

TEST(CrossNamespaceQuotaTest, OnlyTheScopeCounts) {
  Json quota = Quota("shop", "q", {{"pods", "0"}});
  quota["spec"].erase("scopeSelector");
  EXPECT_EQ(UsedUpForCrossNamespaceAffinity(quota), "");
  quota["spec"]["scopes"] = {"BestEffort"};
  EXPECT_EQ(UsedUpForCrossNamespaceAffinity(quota), "");
  quota["spec"]["scopes"] = {"CrossNamespacePodAffinity"};
  EXPECT_NE(UsedUpForCrossNamespaceAffinity(quota), "");
  quota["spec"]["scopes"] = "CrossNamespacePodAffinity";
  EXPECT_EQ(UsedUpForCrossNamespaceAffinity(quota), "");
}

}  // namespace
}  // namespace operator_
