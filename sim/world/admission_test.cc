// SPDX-License-Identifier: Apache-2.0
// Admission of a world: its webhooks are processes that the test writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>

#include "api/names.h"
#include "kube/admission/response.h"
#include "kube/admission/review.h"
#include "kube/base/base64.h"
#include "kube/crypto/certificates.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/types/kinds.h"
#include "sim/cluster/http_server.h"
#include "sim/world/world.h"

namespace sim {
namespace {

using namespace std::chrono_literals;
using kube::AdmissionResponse;
using kube::Code;
using kube::FailsWith;
using kube::IsOk;
using kube::Json;
using kube::MakePod;
using kube::Result;
using kube::core::Pod;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kHooks[] = "hooks";
constexpr char kShop[] = "shop";
constexpr char kAnn[] = "ann";

std::string LabelPatch(const std::string& label) {
  return R"([{"op":"add","path":"/metadata/labels","value":{")" + label + R"(":"yes"}}])";
}

class AdmissionTest : public testing::Test {
 protected:
  AdmissionTest() {
    world_.CreateNamespaces({kHooks, kShop});
    authority_ = *kube::NewCertificateAuthority("hooks", 24h, clock_);
    certificate_ =
        kube::NewServingCertificate(authority_, {"gate.hooks.svc"}, 1h, clock_)->certificate_pem;
    Json service = {{"kind", "Service"}, {"metadata", {{"name", "gate"}, {"namespace", kHooks}}}};
    world_.admin().CreateJson(kube::kServices, service);
    process_ = &world_.AddProcess({"gate/0", "gate"}, [this](Life& life) { return Serve(life); });
    process_->Start();
    world_.Pass(2s);
  }

  // Answers each review with answer_.
  kube::Async<> Serve(Life& life) {
    co_await kube::IgnoreCancellation();
    HttpServer server(world_.services(), life, {kHooks, "gate", "gate/0"});
    server.Handle("/gate", kube::ReviewHandler([this](kube::AdmissionRequest request) {
                    reviews_.push_back(request);
                    return Answer();
                  }));
    server.Open([this] { return certificate_; });
    co_await life.app().WaitForStop();
    co_return co_await server.Drain();
  }
  kube::Async<AdmissionResponse> Answer() { co_return answer_; }

  Json Entry(const std::string& name) {
    Json rule = {{"operations", {"CREATE"}},
                 {"apiGroups", {""}},
                 {"apiVersions", {"v1"}},
                 {"resources", {"pods"}},
                 {"scope", "Namespaced"}};
    return {{"name", name},
            {"clientConfig",
             {{"service", {{"namespace", kHooks}, {"name", "gate"}, {"path", "/gate"}}},
              {"caBundle", kube::Base64Encode(authority_.certificate_pem)}}},
            {"rules", Json::array({rule})},
            {"failurePolicy", "Fail"},
            {"timeoutSeconds", 5}};
  }
  void Configure(const kube::Resource& resource, const std::string& name, Json entries) {
    Json object = {{"kind", std::string(resource.kind)},
                   {"metadata", {{"name", name}}},
                   {"webhooks", std::move(entries)}};
    world_.admin().CreateJson(resource, object);
    world_.Pass(KnownObjects::kLatest);
  }
  void ConfigureMutating(Json entry) {
    Configure(kube::kMutatingWebhookConfigurations, "one", Json::array({std::move(entry)}));
  }

  static kube::ApiRequest CreationOf(const Pod& pod) {
    return {.method = kube::Method::kPost,
            .target = kube::kPods.Path(kShop),
            .content_type = std::string(kube::kProtobuf),
            .body = kube::Encode(pod)};
  }
  static kube::ApiRequest CreationOf(const std::string& name) {
    return CreationOf(Pod(MakePod(name).Namespace(kShop)));
  }
  // A creation by a user.
  Result<kube::ApiResponse> Create(const Pod& pod) {
    std::optional<Result<kube::ApiResponse>> answer;
    world_.api_server().Carry(kAnn, CreationOf(pod), [&answer](Result<kube::ApiResponse> result) {
      answer = std::move(result);
    });
    world_.Pass(20s);
    return answer ? std::move(*answer) : kube::Error::Internal("no answer");
  }
  Result<kube::ApiResponse> Create(const std::string& name) {
    return Create(MakePod(name).Namespace(kShop));
  }
  bool IsLabelled(const std::string& name, const std::string& label = "a") {
    auto pod = world_.admin().Get<Pod>({kShop, name});
    return pod && pod->metadata().labels().contains(label);
  }

  kube::FakeClock clock_;
  World world_{1};
  kube::KeyPair authority_;
  std::string certificate_;
  Process* process_;
  AdmissionResponse answer_ = AdmissionResponse::Patched(LabelPatch("a"));
  std::vector<kube::AdmissionRequest> reviews_;
};

TEST_F(AdmissionTest, AWebhookChangesAPod) {
  ASSERT_THAT(Create("before"), IsOk());
  EXPECT_FALSE(IsLabelled("before"));
  ConfigureMutating(Entry("gate"));
  ASSERT_THAT(Create("web"), IsOk());
  EXPECT_TRUE(IsLabelled("web"));
  ASSERT_EQ(reviews_.size(), 1u);
  EXPECT_EQ(reviews_[0].operation, "CREATE");
  EXPECT_EQ(reviews_[0].kind, "Pod");
  EXPECT_EQ(reviews_[0].ns, kShop);
  EXPECT_EQ(reviews_[0].user, kAnn);
  Json seen = kube::MustParseJson(reviews_[0].object_json);
  EXPECT_EQ(kube::StringAt(seen, "metadata.uid"),
            world_.admin().Get<Pod>({kShop, "web"})->metadata().uid());
}

TEST_F(AdmissionTest, ADeletedConfigurationIsInUseForAMoment) {
  ConfigureMutating(Entry("gate"));
  world_.admin().DeleteJson(kube::kMutatingWebhookConfigurations, {"", "one"});
  std::vector<bool> labelled;
  for (kube::Duration passed{}; passed <= KnownObjects::kLatest; passed += 50ms) {
    std::string name = "pod-" + std::to_string(labelled.size());
    world_.api_server().Carry(kAnn, CreationOf(name), [](Result<kube::ApiResponse>) {});
    world_.Pass(50ms);
    labelled.push_back(IsLabelled(name));
  }
  EXPECT_TRUE(labelled.front());
  EXPECT_FALSE(labelled.back());
}

TEST_F(AdmissionTest, PodsAreStoredLate) {
  world_.admission().DelayPods(55s);
  constexpr size_t kPods = 8;
  std::vector<Result<kube::ApiResponse>> answers;
  for (size_t i = 0; i < kPods; ++i) {
    world_.api_server().Carry(
        kAnn, CreationOf("pod-" + std::to_string(i)),
        [&answers](Result<kube::ApiResponse> answer) { answers.push_back(std::move(answer)); });
  }
  world_.Pass(5s);
  EXPECT_LT(answers.size(), kPods);
  world_.Pass(50s);
  ASSERT_EQ(answers.size(), kPods);
  for (const auto& answer : answers) EXPECT_THAT(answer, IsOk());
  world_.admission().DelayPods({});
  ASSERT_THAT(Create("web"), IsOk());
}

TEST_F(AdmissionTest, ANamespaceThatIsDeletedMeanwhileGetsNoLatePod) {
  world_.admission().DelayPods(55s);
  std::optional<Result<kube::ApiResponse>> answer;
  world_.api_server().Carry(kAnn, CreationOf("web"), [&answer](Result<kube::ApiResponse> result) {
    answer = std::move(result);
  });
  world_.Pass(1ms);
  ASSERT_FALSE(answer);
  world_.admin().DeleteJson(kube::kNamespaces, {"", kShop});
  world_.Pass(55s);
  ASSERT_TRUE(answer);
  EXPECT_THAT(*answer, FailsWith(Code::kPermissionDenied));
  EXPECT_FALSE(world_.admin().Get<Pod>({kShop, "web"}));
}

TEST_F(AdmissionTest, SelectorsAndConditionsDecide) {
  Json entry = Entry("gate");
  entry["objectSelector"] = {{"matchLabels", {{"place", "yes"}}}};
  entry["namespaceSelector"] = {
      {"matchExpressions",
       Json::array(
           {{{"key", "kubernetes.io/metadata.name"}, {"operator", "In"}, {"values", {kShop}}}})}};
  entry["matchConditions"] =
      Json::array({{{"name", "not-bound-to-a-node"}, {"expression", "as the operator writes it"}}});
  ConfigureMutating(entry);
  answer_ =
      AdmissionResponse::Patched(R"([{"op":"add","path":"/metadata/labels/a","value":"yes"}])");
  ASSERT_THAT(Create(MakePod("web").Namespace(kShop).Label("place", "yes")), IsOk());
  EXPECT_TRUE(IsLabelled("web"));
  ASSERT_THAT(Create("unlabelled"), IsOk());
  Pod bound = MakePod("bound").Namespace(kShop).Label("place", "yes");
  bound.mutable_spec()->set_node_name("node");
  ASSERT_THAT(Create(bound), IsOk());
  EXPECT_EQ(reviews_.size(), 1u);
}

TEST_F(AdmissionTest, ConfigurationsAreCalledInTheOrderOfTheirNames) {
  Configure(kube::kMutatingWebhookConfigurations, "b", Json::array({Entry("second")}));
  Configure(kube::kMutatingWebhookConfigurations, "a", Json::array({Entry("first")}));
  ASSERT_THAT(Create("web"), IsOk());
  ASSERT_EQ(reviews_.size(), 2u);
  EXPECT_THAT(reviews_[0].object_json, testing::Not(HasSubstr(R"("a":"yes")")));
  EXPECT_THAT(reviews_[1].object_json, HasSubstr(R"("a":"yes")"));
}

TEST_F(AdmissionTest, AValidatingWebhookRefusesAndWarns) {
  Configure(kube::kValidatingWebhookConfigurations, "one", Json::array({Entry("check")}));
  answer_ = AdmissionResponse::Denied(422, "Invalid", "not this one");
  EXPECT_THAT(Create("web"), FailsWith(Code::kInvalid, HasSubstr("not this one")));
  EXPECT_FALSE(world_.admin().Get<Pod>({kShop, "web"}));
  answer_ = AdmissionResponse::Allowed().Warn("careful");
  Result<kube::ApiResponse> created = Create("web");
  ASSERT_THAT(created, IsOk());
  EXPECT_THAT(created->warnings, ElementsAre("careful"));
}

TEST_F(AdmissionTest, TheFailurePolicyDecidesWithoutAnAnswer) {
  ConfigureMutating(Entry("gate"));
  process_->Kill();
  EXPECT_THAT(Create("refused"), FailsWith(Code::kUnavailable, HasSubstr("gate")));
  Json entry = Entry("gate");
  entry["failurePolicy"] = "Ignore";
  world_.admin().DeleteJson(kube::kMutatingWebhookConfigurations, {"", "one"});
  ConfigureMutating(entry);
  EXPECT_THAT(Create("web"), IsOk());
  EXPECT_FALSE(IsLabelled("web"));
  process_->Start();
  world_.Pass(2s);
  EXPECT_THAT(Create("again"), IsOk());
  EXPECT_TRUE(IsLabelled("again"));
  // The call waits until its timeout, and not longer.
  process_->Pause();
  EXPECT_THAT(Create("paused"), IsOk());
  EXPECT_FALSE(IsLabelled("paused"));
}

TEST_F(AdmissionTest, ACallBreaksWhenTheProcessEnds) {
  ConfigureMutating(Entry("gate"));
  process_->Pause();
  std::optional<Result<kube::ApiResponse>> answer;
  world_.api_server().Carry(kAnn,
                            {.method = kube::Method::kPost,
                             .target = kube::kPods.Path(kShop),
                             .content_type = std::string(kube::kProtobuf),
                             .body = kube::Encode<Pod>(MakePod("web").Namespace(kShop))},
                            [&answer](Result<kube::ApiResponse> got) { answer = std::move(got); });
  world_.Pass(1s);
  EXPECT_FALSE(answer);
  process_->Kill();
  world_.Pass(1s);
  ASSERT_TRUE(answer);
  EXPECT_THAT(*answer, FailsWith(Code::kUnavailable, HasSubstr("reset")));
}

TEST_F(AdmissionTest, AnUntrustedCertificateIsAFailure) {
  Json entry = Entry("gate");
  kube::KeyPair other = *kube::NewCertificateAuthority("other", 24h, clock_);
  entry["clientConfig"]["caBundle"] = kube::Base64Encode(other.certificate_pem);
  ConfigureMutating(entry);
  EXPECT_THAT(Create("web"), FailsWith(Code::kUnavailable, HasSubstr("x509")));
  // The certificate ends, too.
  world_.admin().DeleteJson(kube::kMutatingWebhookConfigurations, {"", "one"});
  ConfigureMutating(Entry("gate"));
  EXPECT_THAT(Create("web"), IsOk());
  world_.Pass(1h);
  EXPECT_THAT(Create("late"), FailsWith(Code::kUnavailable, HasSubstr("x509")));
}

TEST_F(AdmissionTest, CallsAreLostAsFaultsSay) {
  ConfigureMutating(Entry("gate"));
  for (FaultKind kind : {FaultKind::kLostRequests, FaultKind::kLostReplies, FaultKind::kHalfOpen}) {
    world_.faults().Begin({.kind = kind, .of = "call/gate", .once_in = 1});
    EXPECT_THAT(Create("web"), FailsWith(Code::kUnavailable)) << NameOf(kind);
    world_.faults().End();
  }
  // All replies and some of the half-open calls reached the process.
  EXPECT_GE(reviews_.size(), 1u);
}

TEST_F(AdmissionTest, ACrashOfTheApiServerEndsAWrite) {
  ConfigureMutating(Entry("gate"));
  std::optional<Result<kube::ApiResponse>> answer;
  world_.api_server().Carry(kAnn,
                            {.method = kube::Method::kPost,
                             .target = kube::kPods.Path(kShop),
                             .content_type = std::string(kube::kProtobuf),
                             .body = kube::Encode<Pod>(MakePod("web").Namespace(kShop))},
                            [&answer](Result<kube::ApiResponse> got) { answer = std::move(got); });
  world_.Pass(1ms);
  world_.api_server().Crash();
  world_.api_server().Start();
  world_.Pass(20s);
  ASSERT_TRUE(answer);
  EXPECT_THAT(*answer, FailsWith(Code::kUnavailable));
  EXPECT_FALSE(world_.admin().Get<Pod>({kShop, "web"}));
}

TEST(MatchConditionsDeathTest, AnUnknownNameEndsTheSimulation) {
  World world(1);
  world.CreateNamespaces({kShop});
  Json object = {{"metadata", {{"name", "one"}}}};
  Json rule = {
      {"operations", {"*"}}, {"apiGroups", {"*"}}, {"apiVersions", {"*"}}, {"resources", {"*"}}};
  object["webhooks"] = Json::array(
      {{{"name", "gate"},
        {"rules", Json::array({rule})},
        {"matchConditions", Json::array({{{"name", "new-condition"}, {"expression", "true"}}})}}});
  world.admin().CreateJson(kube::kMutatingWebhookConfigurations, object);
  world.Pass(1s);
  auto create = [&world] {
    world.api_server().Carry(kAnn,
                             {.method = kube::Method::kPost,
                              .target = kube::kPods.Path(kShop),
                              .content_type = std::string(kube::kProtobuf),
                              .body = kube::Encode<Pod>(MakePod("web").Namespace(kShop))},
                             [](Result<kube::ApiResponse>) {});
    world.Pass(1s);
  };
  EXPECT_DEATH(create(), "does not know the matchCondition new-condition");
}

}  // namespace
}  // namespace sim
