// SPDX-License-Identifier: Apache-2.0
// The answers about the objects of a fake API server. What they say is the plugin's, and tested
// there; this is about their JSON, and about what tenants make.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "api/names.h"
#include "api/testing/make_config.h"
#include "console/answers/configs.h"
#include "console/answers/images.h"
#include "console/answers/report.h"
#include "console/answers/session.h"
#include "console/answers/waiting.h"
#include "console/answers/why.h"
#include "exec-format/findings/image_finding.h"
#include "image-facts/image_facts.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/types/unstructured.h"

namespace console {
namespace {

using kube::Code;
using kube::FailsWith;
using kube::IsOk;
using kube::Json;
using kube::MakePod;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kOperator[] = "operator";

class AnswersTest : public ::testing::Test {
 protected:
  kube::Result<std::string> Ask(AnswerTo answer, const std::string& query = "",
                                const std::string& body = "") {
    const Question question{.client = api_,
                            .executor = io_.get_executor(),
                            .clock = clock_,
                            .query = *Query::Parse(query),
                            .body = body,
                            .user = "jane",
                            .operator_namespace = kOperator};
    return kube::Run(io_, answer(question));
  }
  Json Answer(AnswerTo answer, const std::string& query = "", const std::string& body = "") {
    kube::Result<std::string> text = Ask(answer, query, body);
    EXPECT_THAT(text, IsOk());
    kube::Result<Json> json = kube::ParseJson(text ? *text : "{}");
    EXPECT_THAT(json, IsOk());
    return json ? *json : Json::object();
  }
  void CreateNamespace(const std::string& name) {
    kube::core::Namespace ns;
    ns.mutable_metadata()->set_name(name);
    api_.Create(ns);
  }
  static MakePod Waits(const std::string& ns, const std::string& name) {
    return MakePod(name)
        .Namespace(ns)
        .Phase("Pending")
        .Gate(api::kClusterGate)
        .Label(api::kClusterGateLabel, api::kGated);
  }

  boost::asio::io_context io_{1};
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
};

TEST_F(AnswersTest, Session) {
  CreateNamespace("shop");
  Json session = Answer(AnswerSession);
  EXPECT_EQ(session["user"], "jane");
  EXPECT_EQ(session["namespaces"], Json::array({"shop"}));
  EXPECT_EQ(session["namespacesUnread"], "");
  EXPECT_EQ(session["fleet"], false);
  api_.FailNext(kube::Error::PermissionDenied("jane may not"), "/namespaces");
  session = Answer(AnswerSession);
  EXPECT_THAT(session["namespaces"], IsEmpty());
  EXPECT_EQ(session["namespacesUnread"], "jane may not");
}

TEST_F(AnswersTest, Waiting) {
  api_.Create<kube::core::Pod>(Waits("shop", "web"));
  api_.Create<kube::core::Pod>(MakePod("runs").Namespace("shop").Phase("Running").Node("n"));
  Json waiting = Answer(AnswerWaiting, "namespace=shop");
  ASSERT_THAT(waiting["pods"], SizeIs(1));
  const Json& pod = waiting["pods"][0];
  EXPECT_EQ(pod["name"], "web");
  EXPECT_EQ(pod["gates"], Json::array({api::kClusterGate}));
  EXPECT_EQ(pod["cause"]["name"], "NoClusterPodPlacementConfig");
  EXPECT_EQ(waiting["leftOut"], 0);
  EXPECT_THAT(Answer(AnswerWaiting, "namespace=bank")["pods"], IsEmpty());
  EXPECT_THAT(Ask(AnswerWaiting, "namespace=%2e%2e"), FailsWith(Code::kInvalid));
  api_.FailNext(kube::Error::PermissionDenied("jane may not"), "/pods");
  EXPECT_THAT(Ask(AnswerWaiting), FailsWith(Code::kPermissionDenied, HasSubstr("jane may not")));
}

// Gates and annotations are what the owner of a pod writes.
TEST_F(AnswersTest, ATenantCannotHideTheWaitingPodsOfOthers) {
  const std::string long_text(20'000, 'x');
  for (int i = 0; i < 1'500; ++i)
    api_.Create<kube::core::Pod>(Waits("greedy", "pod-" + std::to_string(i))
                                     .Gate("example.com/" + long_text)
                                     .Label(api::kInspectErrorLabel, "")
                                     .Annotation(api::kInspectErrorAnnotation, "401 " + long_text));
  api_.Create<kube::core::Pod>(Waits("shop", "web"));
  kube::Result<std::string> text = Ask(AnswerWaiting);
  ASSERT_THAT(text, IsOk());
  EXPECT_LE(text->size(), 2u * 1024 * 1024);
  Json waiting = *kube::ParseJson(*text);
  EXPECT_GT(waiting["leftOut"], 0);
  EXPECT_EQ(waiting["pods"].back()["name"], "web");
}

TEST_F(AnswersTest, ConfigsAndWhomOneWouldSelect) {
  CreateNamespace("shop");
  api_.Create<api::PodPlacementConfig>(
      api::MakeConfig("web", "shop").Prefer("arm64", 75).ForLabel("app", "web"));
  Json configs = Answer(AnswerConfigs, "namespace=shop");
  ASSERT_THAT(configs["configs"], SizeIs(1));
  EXPECT_EQ(configs["configs"][0]["selector"], "app=web");
  EXPECT_EQ(configs["configs"][0]["preferences"][0]["weight"], 75);

  api_.Create<kube::core::Pod>(MakePod("web").Namespace("shop").Label("app", "web").Image("a"));
  api_.Create<api::ClusterPodPlacementConfig>(api::MakeClusterConfig());
  const std::string config = R"(
apiVersion: multiarch.openshift.io/v1beta1
kind: PodPlacementConfig
metadata: {name: other}
spec:
  priority: 5
  labelSelector: {matchLabels: {app: web}}
  plugins: {nodeAffinityScoring: {enabled: true, platforms: [{architecture: amd64, weight: 5}]}}
)";
  Json simulated = Answer(AnswerSimulate, "namespace=shop", config);
  ASSERT_THAT(simulated["selected"], SizeIs(1)) << simulated;
  EXPECT_EQ(simulated["selected"][0]["name"], "Pod shop/web");
  EXPECT_EQ(simulated["selected"][0]["before"], "arm64 75");

  EXPECT_THAT(Ask(AnswerSimulate, "", config), FailsWith(Code::kInvalid, HasSubstr("namespace")));
  for (const char* body : {"", "{", "kind: Pod", "a: &a [*a]"})
    EXPECT_THAT(Ask(AnswerSimulate, "namespace=shop", body), FailsWith(Code::kInvalid)) << body;
  std::string elsewhere = config;
  elsewhere.replace(elsewhere.find("{name: other}"), 13, "{name: other, namespace: bank}");
  EXPECT_THAT(Ask(AnswerSimulate, "namespace=shop", elsewhere), FailsWith(Code::kInvalid));
  EXPECT_EQ(api_.CountWrites(), 0);
}

TEST_F(AnswersTest, Images) {
  image_facts::ImageFacts facts;
  facts.mutable_metadata()->set_namespace_(kOperator);
  facts.mutable_metadata()->set_name("image-facts-0");
  const auto both = std::make_shared<placement::ImagePlatforms>(
      placement::ImagePlatforms{.platforms = {{"linux", "amd64"}, {"linux", "arm64"}}});
  for (int i = 0; i < 600; ++i)
    facts.facts.push_back({"r.io/app:" + std::to_string(i), "sha256:" + std::string(64, 'a'), both,
                           image_facts::Seconds(std::chrono::seconds(1)),
                           i == 7 ? "shop default key" : ""});
  api_.Create(facts);
  Json images = Answer(AnswerImages, "search=app%3A7");
  ASSERT_THAT(images["images"], SizeIs(11));
  EXPECT_EQ(images["images"][0]["platforms"], Json::array({"linux/amd64", "linux/arm64"}));
  EXPECT_EQ(images["images"][0]["scope"], "with pull secrets of shop");
  EXPECT_EQ(images["images"][0]["read"], "1970-01-01T00:00:01Z");
  images = Answer(AnswerImages);
  EXPECT_THAT(images["images"], SizeIs(500));
  EXPECT_EQ(images["total"], 600);
  EXPECT_EQ(images["findings"], Json::array());
  exec_format::ImageFinding finding;
  finding.mutable_metadata()->set_namespace_(kOperator);
  finding.mutable_metadata()->set_name("arm64-1");
  finding.image = "r.io/app:7";
  finding.architecture = "arm64";
  finding.path = "/app";
  finding.machine = "amd64";
  api_.Create(finding);
  images = Answer(AnswerImages, "search=app%3A7");
  ASSERT_THAT(images["findings"], SizeIs(1));
  EXPECT_EQ(images["findings"][0]["evidence"], "the program /app is built for amd64");
  EXPECT_THAT(Answer(AnswerImages, "search=other")["findings"], SizeIs(0));
  api_.FailNext(kube::Error::PermissionDenied("jane may not"), "/imagefacts");
  EXPECT_EQ(Answer(AnswerImages)["unread"][0]["why"], "jane may not");
}

TEST_F(AnswersTest, ThoseOfThePlugin) {
  CreateNamespace("shop");
  api_.Create<kube::core::Pod>(Waits("shop", "web").Image("r.io/a:1"));
  EXPECT_EQ(Answer(AnswerStatus)["waiting"][0]["pods"], 1);
  EXPECT_THAT(Answer(AnswerWhyPod, "namespace=shop&name=web")["state"].get<std::string>(),
              HasSubstr("for the gate"));
  EXPECT_THAT(Ask(AnswerWhyPod, "namespace=shop&name=absent"), FailsWith(Code::kNotFound));
  EXPECT_THAT(Ask(AnswerWhyPod, "namespace=shop"), FailsWith(Code::kInvalid));
  EXPECT_THAT(Ask(AnswerWhyConfig, "namespace=shop&name=absent"), FailsWith(Code::kNotFound));
  EXPECT_THAT(Ask(AnswerWhyWorkload, "kind=secret&namespace=shop&name=web"),
              FailsWith(Code::kInvalid));
  EXPECT_THAT(Ask(AnswerWhyWorkload, "kind=deployment&namespace=shop&name=web"),
              FailsWith(Code::kNotFound));
  Json report = Answer(AnswerReport, "architecture=arm64");
  EXPECT_EQ(report["workloads"][0]["fate"], "not known");
  report = Answer(AnswerReport, "only=sums");
  EXPECT_THAT(report["workloads"], IsEmpty());
  EXPECT_EQ(report["fates"][4]["pods"], 1);
  EXPECT_THAT(Ask(AnswerReport, "architecture=%3Cb%3E"), FailsWith(Code::kInvalid));
}

}  // namespace
}  // namespace console
