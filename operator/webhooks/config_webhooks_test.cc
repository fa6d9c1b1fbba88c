// SPDX-License-Identifier: Apache-2.0
#include "operator/webhooks/config_webhooks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/names.h"
#include "api/testing/make_config.h"
#include "kube/base/task_group.h"
#include "kube/metrics/metrics.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/types/coordination.pb.h"
#include "kube/types/kinds.h"
#include "operator/announcements/announcer.h"
#include "operator/objects/webhook_configurations.h"
#include "operator/testing/rules.h"
#include "watches/announcements.h"

namespace operator_ {
namespace {

using kube::AdmissionRequest;
using kube::AdmissionResponse;
using kube::Json;
using kube::Result;
using testing::HasSubstr;
using testing::SizeIs;

constexpr kube::Resource kConfigs = kube::ResourceOf<api::PodPlacementConfig>::value;
constexpr kube::Resource kClusterConfigs = kube::ResourceOf<api::ClusterPodPlacementConfig>::value;

const kube::ObjectKey kConfiguration{"", std::string(api::kMutatingWebhookConfigurationName)};

class ConfigWebhooksTest : public testing::Test {
 protected:
  ~ConfigWebhooksTest() override {
    EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), std::chrono::seconds(5))),
                kube::IsOk());
  }
  static Json Config(const std::string& name, int priority) {
    return api::MakeConfig(name, "shop").Uid("uid-" + name).Priority(priority).Build();
  }
  // As Config("a", 1), with a rule for each expression.
  static Json WithRules(const std::vector<std::string>& expressions) {
    return api::MakeConfig("a", "shop").Uid("uid-a").Priority(1).Rules(expressions).Build();
  }
  static Json ClusterConfig(const std::string& name = "cluster") {
    return api::MakeClusterConfig(name).Build();
  }
  static AdmissionRequest Request(const char* operation, const Json& object,
                                  const Json& old_object) {
    AdmissionRequest request;
    request.operation = operation;
    request.user = "ann";
    request.user_json = R"({"username":"ann","groups":["dev"],"extra":{"a":["b"]},"uid":"u"})";
    request.ns = kube::StringAt(object.is_null() ? old_object : object, "metadata.namespace");
    request.object_json = object.is_null() ? "" : kube::DumpJson(object);
    request.old_object_json = old_object.is_null() ? "" : kube::DumpJson(old_object);
    return request;
  }
  AdmissionResponse Ask(const char* operation, const Json& object,
                        const Json& old_object = nullptr) {
    return Must(kube::Run(io_, webhooks_.ValidateConfig(Request(operation, object, old_object))));
  }
  AdmissionResponse AskCluster(const char* operation, const Json& object,
                               const Json& old_object = nullptr) {
    return Must(
        kube::Run(io_, webhooks_.ValidateClusterConfig(Request(operation, object, old_object))));
  }
  // The answer to a review that waits for the clock is in answer_.
  void Begin(AdmissionRequest request) {
    answer_.reset();
    tasks_.Spawn("review", Review(this, std::move(request)));
    kube::Drain(io_);
  }
  static boost::asio::awaitable<void> Review(ConfigWebhooksTest* test, AdmissionRequest request) {
    Result<AdmissionResponse> answer = co_await test->webhooks_.ValidateConfig(std::move(request));
    test->answer_.emplace(std::move(answer));
  }
  // What is announced in the namespace.
  std::vector<watches::Announcement> Announced() {
    std::vector<kube::coordination::Lease> leases = api_.List<kube::coordination::Lease>("shop");
    return leases.empty() ? std::vector<watches::Announcement>()
                          : watches::AnnouncementsOn(leases[0].metadata());
  }
  static AdmissionResponse Must(Result<AdmissionResponse> response) {
    EXPECT_THAT(response, kube::IsOk());
    return response ? *response : AdmissionResponse::Errored(500, "");
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  kube::Metrics metrics_;
  kube::TaskGroup tasks_{io_.get_executor()};
  Announcer announcer_{api_,
                       clock_,
                       tasks_,
                       {.owner = {}, .ahead = std::chrono::milliseconds(0)},
                       metrics_.AddCounter("failures", "")};
  CelClient cel_{api_};
  ConfigWebhooks webhooks_{cel_, clock_, announcer_};
  std::optional<Result<AdmissionResponse>> answer_;
};

TEST_F(ConfigWebhooksTest, NoConfigWithoutAClusterConfig) {
  AdmissionResponse response = Ask("CREATE", Config("a", 1));
  EXPECT_FALSE(response.allowed());
  EXPECT_THAT(response.message(), HasSubstr("ClusterPodPlacementConfig"));
  api_.CreateJson(kClusterConfigs, ClusterConfig());
  EXPECT_TRUE(Ask("CREATE", Config("a", 1)).allowed());
}

TEST_F(ConfigWebhooksTest, NoConfigWhileTheClusterConfigIsBeingDeleted) {
  Json cluster = ClusterConfig();
  cluster["metadata"]["finalizers"] = Json::array({"a.b/c"});
  api_.CreateJson(kClusterConfigs, cluster);
  api_.DeleteJson(kClusterConfigs, {"", "cluster"});
  EXPECT_FALSE(Ask("CREATE", Config("a", 1)).allowed());
}

TEST_F(ConfigWebhooksTest, APriorityIsUniqueInItsNamespace) {
  api_.CreateJson(kClusterConfigs, ClusterConfig());
  api_.CreateJson(kConfigs, Config("a", 1));
  AdmissionResponse taken = Ask("CREATE", Config("b", 1));
  EXPECT_FALSE(taken.allowed());
  EXPECT_EQ(taken.code(), 422);
  EXPECT_TRUE(Ask("CREATE", Config("b", 2)).allowed());
  Json elsewhere = Config("b", 1);
  elsewhere["metadata"]["namespace"] = "farm";
  EXPECT_TRUE(Ask("CREATE", elsewhere).allowed());
  EXPECT_FALSE(Ask("UPDATE", Config("b", 1), Config("b", 2)).allowed());
  EXPECT_TRUE(Ask("UPDATE", Config("a", 1), Config("a", 1)).allowed());
}

TEST_F(ConfigWebhooksTest, TheSizeOfConfigsIsLimited) {
  api_.CreateJson(kClusterConfigs, ClusterConfig());
  auto config = [](const std::string& name, int priority, size_t bytes) {
    return api::MakeConfig(name, "shop").Priority(priority).Sized(bytes).Build();
  };
  AdmissionResponse huge = Ask("CREATE", config("a", 1, 70'000));
  EXPECT_EQ(huge.code(), 422);
  EXPECT_THAT(huge.message(), HasSubstr("bytes as JSON, at most 65536 are allowed"));

  for (int i = 0; i < 4; ++i) {
    Json one = config("c" + std::to_string(i), i, 65'000);
    EXPECT_TRUE(Ask("CREATE", one).allowed());
    api_.CreateJson(kConfigs, one);
  }
  AdmissionResponse full = Ask("CREATE", config("a", 9, 5'000));
  EXPECT_EQ(full.code(), 422);
  EXPECT_THAT(full.message(), HasSubstr("at most 262144 are allowed"));
  EXPECT_TRUE(Ask("CREATE", config("a", 9, 1'000)).allowed());
  EXPECT_FALSE(Ask("UPDATE", config("a", 9, 5'000), config("a", 9, 1'000)).allowed());
  // Also while all are over the limit.
  EXPECT_TRUE(Ask("UPDATE", config("a", 9, 5'000), config("a", 9, 6'000)).allowed());
}

// A config of an older version, or one that was written while the webhook was away.
TEST_F(ConfigWebhooksTest, WhatIsStoredAndTooLargeCanBeMadeSmaller) {
  api_.CreateJson(kClusterConfigs, ClusterConfig());
  Json huge = api::MakeConfig("a", "shop").Priority(1).Sized(70'000).Build();
  api_.CreateJson(kConfigs, huge);
  Json labelled = huge;
  labelled["metadata"]["labels"] = {{"a", "b"}};
  EXPECT_TRUE(Ask("UPDATE", labelled, huge).allowed());
  Json smaller = api::MakeConfig("a", "shop").Priority(1).Sized(1'000).Build();
  EXPECT_TRUE(Ask("UPDATE", smaller, huge).allowed());
}

// Labels, owners and finalizers have no limit in the API server.
TEST_F(ConfigWebhooksTest, TheSizeOfAConfigWithItsMetadataIsLimited) {
  api_.CreateJson(kClusterConfigs, ClusterConfig());
  auto config = [](size_t label_bytes) {
    api::MakeConfig made("a", "shop");
    made.Uid("uid-a").Priority(1).Finalizer("a.b/c").Finalizer("a.b/d");
    return made.Label("fill", std::string(label_bytes, 'x')).Build();
  };
  const size_t full = 128 * 1024 - kube::DumpJson(config(0)).size();
  EXPECT_TRUE(Ask("CREATE", config(full)).allowed());
  AdmissionResponse huge = Ask("CREATE", config(full + 1));
  EXPECT_EQ(huge.code(), 422);
  EXPECT_THAT(huge.message(),
              HasSubstr("131073 bytes as JSON with its metadata, at most 131072 are allowed"));
  EXPECT_FALSE(Ask("UPDATE", config(full + 1), config(full)).allowed());
  // What is stored can be made smaller, and finalizers can be removed.
  EXPECT_TRUE(Ask("UPDATE", config(full + 9), config(full + 10)).allowed());
  EXPECT_TRUE(Ask("UPDATE", config(full + 10), config(full + 10)).allowed());
  Json stored = config(full + 99);
  Json without_finalizer = stored;
  without_finalizer["metadata"]["finalizers"] = Json::array({"a.b/d"});
  without_finalizer["metadata"]["managedFields"] = Json::array({{{"manager", "kubectl-edit"}}});
  EXPECT_TRUE(Ask("UPDATE", without_finalizer, stored).allowed());
  without_finalizer["metadata"]["labels"]["more"] = "x";
  EXPECT_FALSE(Ask("UPDATE", without_finalizer, stored).allowed());
  // Also while it is being deleted.
  for (Json* json : {&without_finalizer, &stored}) {
    (*json)["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
    (*json)["metadata"]["labels"].erase("more");
  }
  EXPECT_TRUE(Ask("UPDATE", without_finalizer, stored).allowed());
  without_finalizer["metadata"]["labels"]["more"] = "x";
  EXPECT_FALSE(Ask("UPDATE", without_finalizer, stored).allowed());
}

// Its finalizers are removed, and its namespace is deleted, whatever lists of configs do.
TEST_F(ConfigWebhooksTest, WhatIsDeletedOrKeepsItsSpecNeedsNoList) {
  Json deleted = Config("a", 2);
  deleted["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  Json labelled = Config("a", 1);
  labelled["metadata"]["labels"] = {{"a", "b"}};
  for (const Json& changed : {deleted, labelled}) {
    api_.FailNext(kube::Error::Unavailable("503"), "podplacementconfigs");
    EXPECT_TRUE(Ask("UPDATE", changed, Config("a", 1)).allowed());
  }
  EXPECT_EQ(api_.CountCalls("GET"), 0);
}

TEST_F(ConfigWebhooksTest, AnExpressionThatTheApiServerRefusesIsDenied) {
  api_.CreateJson(kClusterConfigs, ClusterConfig());
  EXPECT_TRUE(Ask("CREATE", WithRules({"one", "two"})).allowed());
  for (const char* operation : {"CREATE", "UPDATE"}) {
    AdmissionResponse response = Ask(operation, WithRules({"one", "broken", "request"}),
                                     operation[0] == 'U' ? Config("a", 1) : Json());
    EXPECT_FALSE(response.allowed());
    EXPECT_EQ(response.code(), 422);
    EXPECT_EQ(response.message(),
              "spec.celRules[1].expression: compilation failed: alone; "
              "spec.celRules[2].expression: must use only the variable object, not request, "
              "oldObject, namespaceObject or authorizer: compilation failed: restricted");
  }
  EXPECT_EQ(api_.CountCalls("POST /apis/admissionregistration"), 0);
}

TEST_F(ConfigWebhooksTest, WhoAddsARuleNeedsTheRight) {
  api_.CreateJson(kClusterConfigs, ClusterConfig());
  EXPECT_TRUE(Ask("CREATE", WithRules({"one"})).allowed());
  EXPECT_EQ(cel_.asked,
            kube::MustParseJson(R"({"user": "ann", "groups": ["dev"], "extra": {"a": ["b"]},
      "uid": "u", "resourceAttributes": {"namespace": "shop", "verb": "use",
      "group": "multiarch.openshift.io", "resource": "celrules"}})"));

  cel_.may_use_rules = false;
  int reviews = cel_.access_reviews;
  AdmissionResponse response = Ask("CREATE", WithRules({"one"}));
  EXPECT_FALSE(response.allowed());
  EXPECT_EQ(response.code(), 403);
  EXPECT_THAT(response.message(),
              HasSubstr("ann may not use celRules.multiarch.openshift.io in namespace shop"));
  EXPECT_THAT(response.message(), HasSubstr("ClusterRole podplacementconfigs-celrules"));
  EXPECT_FALSE(Ask("UPDATE", WithRules({"one"}), Config("a", 1)).allowed());
  EXPECT_FALSE(Ask("UPDATE", WithRules({"two"}), WithRules({"one"})).allowed());
  EXPECT_FALSE(Ask("UPDATE", WithRules({"one", "one"}), WithRules({"one"})).allowed());
  EXPECT_EQ(cel_.access_reviews, reviews + 4);

  // Everything else needs no further right.
  EXPECT_TRUE(Ask("CREATE", Config("a", 1)).allowed());
  EXPECT_TRUE(Ask("UPDATE", WithRules({"one"}), WithRules({"one", "two"})).allowed());
  EXPECT_TRUE(Ask("UPDATE", Config("a", 1), WithRules({"one"})).allowed());
  Json changed = WithRules({"one"});
  changed["spec"]["celRules"][0]["platforms"][0]["weight"] = 9;
  changed["spec"]["priority"] = 7;
  EXPECT_TRUE(Ask("UPDATE", changed, WithRules({"one"})).allowed());
  EXPECT_EQ(cel_.access_reviews, reviews + 4);
}

TEST_F(ConfigWebhooksTest, OnlyNewExpressionsAreChecked) {
  // Admitted by an older API server.
  Json stored = WithRules({"broken", "one"});
  Json changed = stored;
  changed["spec"]["priority"] = 9;
  EXPECT_TRUE(Ask("UPDATE", changed, stored).allowed());
  EXPECT_TRUE(Ask("UPDATE", WithRules({"broken"}), stored).allowed());
  EXPECT_EQ(cel_.dry_runs, 0);
  EXPECT_TRUE(Ask("UPDATE", WithRules({"two", "broken"}), stored).allowed());
  EXPECT_EQ(cel_.dry_runs, 1);
  EXPECT_FALSE(Ask("UPDATE", WithRules({"broken twice"}), stored).allowed());

  Json deleted = WithRules({"broken twice"});
  deleted["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  EXPECT_TRUE(Ask("UPDATE", deleted, stored).allowed());
}

TEST_F(ConfigWebhooksTest, AnExpressionThatCannotBeCheckedIsNotAdmitted) {
  api_.CreateJson(kClusterConfigs, ClusterConfig());
  cel_.fail = true;
  EXPECT_TRUE(Ask("CREATE", Config("a", 1)).allowed());
  EXPECT_THAT(
      kube::Run(io_, webhooks_.ValidateConfig(Request("CREATE", WithRules({"one"}), nullptr))),
      kube::FailsWith(kube::Code::kDeadlineExceeded));
}

TEST_F(ConfigWebhooksTest, TheRulesOfANamespaceAreLimited) {
  api_.CreateJson(kClusterConfigs, ClusterConfig());
  const std::vector<std::string> eight(8, "one");
  for (int i = 0; i < 16; ++i) {
    Json other = WithRules(eight);
    other["metadata"]["name"] = "other-" + std::to_string(i);
    other["spec"]["priority"] = 100 + i;
    EXPECT_TRUE(Ask("CREATE", other).allowed());
    api_.CreateJson(kConfigs, other);
  }
  EXPECT_TRUE(Ask("CREATE", Config("a", 1)).allowed());
  EXPECT_THAT(Ask("CREATE", WithRules({"one"})).message(), HasSubstr("128 rules together"));
  EXPECT_FALSE(Ask("UPDATE", WithRules({"one"}), Config("a", 1)).allowed());
  EXPECT_TRUE(Ask("UPDATE", WithRules({"two"}), WithRules({"one"})).allowed());
}

TEST_F(ConfigWebhooksTest, AnAllowedWriteIsAnnounced) {
  EXPECT_FALSE(Ask("CREATE", Config("a", 1)).allowed());
  EXPECT_THAT(Announced(), SizeIs(0));
  api_.CreateJson(kClusterConfigs, ClusterConfig());

  EXPECT_TRUE(Ask("CREATE", Config("a", 1)).allowed());
  EXPECT_THAT(Announced(), SizeIs(1));

  AdmissionRequest dry_run = Request("CREATE", Config("b", 2), nullptr);
  dry_run.dry_run = true;
  EXPECT_TRUE(Must(kube::Run(io_, webhooks_.ValidateConfig(dry_run))).allowed());
  EXPECT_THAT(Announced(), SizeIs(1));

  Json changed = Config("a", 3);
  changed["metadata"]["generation"] = 2;
  EXPECT_TRUE(Ask("UPDATE", changed, Config("a", 1)).allowed());
  ASSERT_THAT(Announced(), SizeIs(1));
  EXPECT_EQ(Announced()[0].generation, 2);
  int writes = api_.CountCalls("PATCH");
  EXPECT_TRUE(Ask("UPDATE", changed, changed).allowed()) << "as of its metadata alone";
  EXPECT_EQ(api_.CountCalls("PATCH"), writes);
}

// Until the cluster gate is added to the pods that it may concern.
TEST_F(ConfigWebhooksTest, TheFirstPreferenceOfANamespaceWaitsForItsGate) {
  api_.CreateJson(kClusterConfigs, ClusterConfig());
  auto write_gate = [&](const std::vector<std::string>& preferring_namespaces) {
    const kube::Resource& resource = kube::kMutatingWebhookConfigurations;
    Json object = ClusterWebhookConfiguration(api::MakeClusterConfig(), preferring_namespaces,
                                              "PEM", {.ns = "ops"});
    bool exists = api_.GetJson(resource, kConfiguration).has_value();
    exists ? api_.UpdateJson(resource, object) : api_.CreateJson(resource, object);
  };
  auto config = [](const std::string& name, int priority) {
    api::MakeConfig made(name, "shop");
    return made.Uid("uid-" + name).Priority(priority).Prefer("arm64", 5).Build();
  };
  write_gate({});
  EXPECT_TRUE(Ask("CREATE", Config("none", 9)).allowed()) << "without a preference";

  Begin(Request("CREATE", config("a", 1), nullptr));
  auto pass = [&](int steps) {
    for (int i = 0; i < steps; ++i) {
      clock_.Advance(std::chrono::milliseconds(100));
      kube::Drain(io_);
    }
  };
  EXPECT_THAT(Announced(), SizeIs(2)) << "for the operator that leads";
  pass(10);
  EXPECT_FALSE(answer_);
  write_gate({"shop"});
  pass(5);
  ASSERT_TRUE(answer_);
  EXPECT_TRUE(Must(*answer_).allowed());

  // Another one does not wait.
  api_.CreateJson(kConfigs, config("a", 1));
  int reads = api_.CountCalls("mutatingwebhookconfigurations");
  EXPECT_TRUE(Ask("CREATE", config("b", 2)).allowed());
  EXPECT_EQ(api_.CountCalls("mutatingwebhookconfigurations"), reads);

  // Without an operator that leads, the write is allowed nevertheless.
  api_.DeleteJson(kConfigs, {"shop", "a"});
  write_gate({});
  Begin(Request("CREATE", config("c", 3), nullptr));
  pass(25);
  ASSERT_TRUE(answer_);
  EXPECT_TRUE(Must(*answer_).allowed());
}

// A quota, missing permissions, other writers, an API server that is too slow: none of these is the
// user's fault.
TEST_F(ConfigWebhooksTest, AFailedAnnouncementRefusesNoWrite) {
  api_.CreateJson(kClusterConfigs, ClusterConfig());
  for (const kube::Error& error :
       {kube::Error::FromHttpStatus(403, "Forbidden", "exceeded quota"),
        kube::Error::Conflict("others write"), kube::Error::DeadlineExceeded("too slow"),
        kube::Error::Unavailable("503"), kube::Error::FromHttpStatus(422, "Invalid", "Too long")}) {
    SCOPED_TRACE(error.ToString());
    for (const char* write : {"POST", "PATCH", "DELETE"}) api_.FailNext(error, write, 10);
    EXPECT_TRUE(Ask("CREATE", Config("a", 1)).allowed());
  }
  EXPECT_GT(metrics_.AddCounter("failures", "").Value(), 0);
}

TEST_F(ConfigWebhooksTest, AConfigThatTheClustersWeightsOutweighIsAWarning) {
  api::MakeClusterConfig cluster;
  cluster.Prefer("amd64", 75).Prefer("arm64", 100);
  api_.CreateJson(kClusterConfigs, cluster.Build());
  struct Case {
    std::vector<api::Platform> platforms;
    const char* warning;
  };
  for (const Case& c :
       {Case{{{"arm64", 74}},
             "ClusterPodPlacementConfig: amd64 with weight 75 outweighs the preferences of this "
             "configuration: set amd64 here, too, or let an administrator set "
             "spec.plugins.nodeAffinityScoring.precedence: Namespace"},
        Case{{{"arm64", 75}}, ""}, Case{{{"arm64", 74}, {"amd64", 1}}, ""},
        Case{{{"s390x", 99}}, "ClusterPodPlacementConfig: arm64 with weight 100 outweighs"},
        Case{{}, ""}}) {
    api::MakeConfig config("a", "shop");
    for (const api::Platform& platform : c.platforms)
      config.Prefer(platform.architecture, platform.weight);
    Json changed = config.Build();
    changed["metadata"]["generation"] = 2;
    Json same = config.Build();
    EXPECT_THAT(Ask("UPDATE", same, same).warnings(), SizeIs(0));
    for (const AdmissionResponse& response :
         {Ask("CREATE", config.Build()), Ask("UPDATE", changed, Config("a", 1))}) {
      EXPECT_TRUE(response.allowed());
      ASSERT_THAT(response.warnings(), SizeIs(*c.warning == '\0' ? 0 : 1));
      if (*c.warning != '\0') {
        EXPECT_THAT(response.warnings()[0], HasSubstr(c.warning));
      }
    }
  }
  // Without the ClusterPodPlacementConfig, a change is still allowed.
  Json config = api::MakeConfig("a", "shop").Prefer("arm64", 1).Build();
  Json changed = config;
  changed["metadata"]["generation"] = 2;
  EXPECT_THAT(Ask("UPDATE", changed, config).warnings(), SizeIs(1));
  api_.DeleteJson(kClusterConfigs, {"", "cluster"});
  EXPECT_THAT(Ask("UPDATE", changed, config).warnings(), SizeIs(0));

  cluster.Set("/spec/plugins/nodeAffinityScoring/precedence", "Namespace");
  api_.CreateJson(kClusterConfigs, cluster.Build());
  EXPECT_THAT(Ask("CREATE", config).warnings(), SizeIs(0));
}

TEST_F(ConfigWebhooksTest, AnUnknownArchitectureIsAWarning) {
  api_.CreateJson(kClusterConfigs, ClusterConfig());
  auto warns = ::testing::ElementsAre(HasSubstr("architecture \"amd46\" is not known; known ones"));
  Json known = api::MakeConfig("a", "shop").Prefer("riscv64", 5).Build();
  Json unknown = api::MakeConfig("a", "shop").Prefer("amd46", 5).Build();
  unknown["metadata"]["generation"] = 2;
  Json disabled = unknown;
  disabled["spec"]["plugins"]["nodeAffinityScoring"]["enabled"] = false;
  EXPECT_THAT(Ask("CREATE", known).warnings(), SizeIs(0));
  for (const AdmissionResponse& response :
       {Ask("CREATE", unknown), Ask("UPDATE", unknown, known), Ask("UPDATE", disabled, known)}) {
    EXPECT_TRUE(response.allowed());
    EXPECT_THAT(response.warnings(), warns);
  }
  EXPECT_THAT(Ask("UPDATE", unknown, unknown).warnings(), SizeIs(0)) << "nothing changes";

  Json fallback = api::MakeClusterConfig().Fallback("amd46").Build();
  for (const AdmissionResponse& response :
       {AskCluster("CREATE", fallback), AskCluster("UPDATE", fallback, ClusterConfig())}) {
    EXPECT_TRUE(response.allowed());
    EXPECT_THAT(response.warnings(), warns);
  }
  fallback = api::MakeClusterConfig().Fallback("unknown").Build();
  AdmissionResponse refused = AskCluster("CREATE", fallback);
  EXPECT_FALSE(refused.allowed());
  EXPECT_THAT(refused.warnings(), SizeIs(0));
}

TEST_F(ConfigWebhooksTest, DeletingAConfigIsAlwaysAllowed) {
  EXPECT_TRUE(Ask("DELETE", nullptr, Config("a", 1)).allowed());
}

TEST_F(ConfigWebhooksTest, TheClusterConfigCannotBeDeletedWhileConfigsExist) {
  api_.CreateJson(kube::kNamespaces, {{"metadata", {{"name", "shop"}}}});
  // What API servers have left of namespaces that are gone does not count.
  for (int i = 0; i < 9; ++i) {
    Json orphan = Config("a", 1);
    orphan["metadata"]["namespace"] = "gone-" + std::to_string(i);
    api_.CreateJson(kConfigs, orphan);
  }
  EXPECT_TRUE(AskCluster("DELETE", nullptr, ClusterConfig()).allowed());
  api_.CreateJson(kConfigs, Config("a", 1));
  AdmissionResponse response = AskCluster("DELETE", nullptr, ClusterConfig());
  EXPECT_FALSE(response.allowed());
  EXPECT_THAT(response.message(), HasSubstr("shop/a"));
  // While it is not known whether the namespace exists, nothing is deleted.
  api_.FailNext(kube::Error::Unavailable("503"), "/api/v1/namespaces/");
  EXPECT_FALSE(
      kube::Run(io_, webhooks_.ValidateClusterConfig(Request("DELETE", nullptr, ClusterConfig()))));
  api_.DeleteJson(kConfigs, {"shop", "a"});
  EXPECT_TRUE(AskCluster("DELETE", nullptr, ClusterConfig()).allowed());
}

TEST_F(ConfigWebhooksTest, APluginIsNoWarning) {
  Json config = ClusterConfig();
  config["spec"]["plugins"]["execFormatErrorMonitor"]["enabled"] = true;
  EXPECT_TRUE(AskCluster("CREATE", config).allowed());
  EXPECT_THAT(AskCluster("CREATE", config).warnings(), ::testing::IsEmpty());
}

TEST_F(ConfigWebhooksTest, ThereIsOneClusterConfig) {
  EXPECT_TRUE(AskCluster("CREATE", ClusterConfig()).allowed());
  EXPECT_FALSE(AskCluster("CREATE", ClusterConfig("other")).allowed());
  EXPECT_TRUE(AskCluster("UPDATE", ClusterConfig(), ClusterConfig()).allowed());
}

TEST_F(ConfigWebhooksTest, AnInvalidObjectIsDenied) {
  AdmissionRequest request = Request("CREATE", Config("a", 1), nullptr);
  request.object_json = "[";
  Result<AdmissionResponse> response = kube::Run(io_, webhooks_.ValidateConfig(request));
  ASSERT_THAT(response, kube::IsOk());
  EXPECT_FALSE(response->allowed());
  EXPECT_EQ(api_.CountCalls(""), 0);
}

TEST_F(ConfigWebhooksTest, WithoutTheApiServerTheRequestFails) {
  api_.FailNext(kube::Error::Unavailable("503"));
  AdmissionRequest request = Request("CREATE", Config("a", 1), nullptr);
  EXPECT_THAT(kube::Run(io_, webhooks_.ValidateConfig(request)),
              kube::FailsWith(kube::Code::kUnavailable));
}

}  // namespace
}  // namespace operator_
