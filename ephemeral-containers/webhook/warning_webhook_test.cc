// SPDX-License-Identifier: Apache-2.0
#include "ephemeral-containers/webhook/warning_webhook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/names.h"
#include "cluster-controller/inspection_metrics.h"
#include "cluster-controller/inspection_queue.h"
#include "cluster-controller/pod_inspector.h"
#include "cluster-controller/pull_secrets.h"
#include "ephemeral-containers/names.h"
#include "ephemeral-containers/webhook/ephemeral_review.h"
#include "ephemeral-containers/webhook/testing/reviews.h"
#include "inspection/testing/fake_inspector.h"
#include "kube/base/error.h"
#include "kube/base/task_group.h"
#include "kube/metrics/metrics.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/testing/slow_client.h"
#include "kube/types/core.pb.h"
#include "kube/types/unstructured.h"

namespace ephemeral {
namespace {

using namespace std::chrono_literals;
using kube::Json;
using placement::ArchitectureSet;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class WarningWebhookTest : public testing::Test {
 protected:
  WarningWebhookTest() { PutNode("worker-3", "arm64"); }
  ~WarningWebhookTest() override {
    EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), kube::IsOk());
  }

  void PutNode(const std::string& name, const std::string& architecture) {
    kube::core::Node node;
    node.mutable_metadata()->set_name(name);
    auto& labels = *node.mutable_metadata()->mutable_labels();
    labels[std::string(api::kOsLabel)] = "linux";
    labels[std::string(api::kArchLabel)] = architecture;
    api_.Create(node);
  }
  static void UseSecrets(Json& review, const std::vector<std::string>& names) {
    Json& secrets = review["request"]["object"]["spec"]["imagePullSecrets"] = Json::array();
    for (const std::string& name : names) secrets.push_back({{"name", name}});
  }
  static Json Adds(const std::string& image, const std::string& ns = "shop") {
    return ReviewOf({EphemeralContainer("debugger", image)}, {}, "worker-3", ns);
  }

  struct Asked {
    bool answered = false;
    int status = 0;
    std::vector<std::string> warnings;
  };
  using SharedAsked = std::shared_ptr<Asked>;

  // Sends a review; the answer may come later.
  SharedAsked Ask(std::string body, std::function<void()> release = {}) {
    auto asked = std::make_shared<Asked>();
    kube::HttpCall call{.method = "POST",
                        .path = std::string(kWarningsPath),
                        .body = std::move(body),
                        .release = std::move(release)};
    boost::asio::co_spawn(io_, webhook_.Answer(std::move(call)),
                          [asked](std::exception_ptr, kube::Result<kube::HttpReply> reply) {
                            asked->answered = true;
                            if (!reply) return;
                            asked->status = reply->status;
                            if (reply->status != 200) return;
                            Json response = (*kube::ParseJson(reply->body))["response"];
                            EXPECT_EQ(response["uid"], kReviewUid);
                            EXPECT_EQ(response["allowed"], true);
                            EXPECT_FALSE(response.contains("patch"));
                            for (const Json& text : response.value("warnings", Json::array()))
                              asked->warnings.push_back(text.get<std::string>());
                          });
    kube::Drain(io_);
    return asked;
  }
  SharedAsked Ask(const Json& review) { return Ask(kube::DumpJson(review)); }
  // The warnings of a review that is answered at once.
  std::vector<std::string> Warnings(const Json& review) {
    SharedAsked asked = Ask(review);
    EXPECT_TRUE(asked->answered);
    EXPECT_EQ(asked->status, 200);
    return asked->warnings;
  }
  void Advance(kube::Duration step) {
    clock_.Advance(step);
    kube::Drain(io_);
  }
  // "busy 1"
  void ExpectSkipped(const std::string& reason, int count) {
    EXPECT_THAT(metrics_.Render(), HasSubstr("mto_ppo_ephemeral_wh_skipped_total{reason=\"" +
                                             reason + "\"} " + std::to_string(count) + "\n"));
  }
  void ExpectReviews(const std::string& result, int count) {
    EXPECT_THAT(metrics_.Render(), HasSubstr("mto_ppo_ephemeral_wh_reviews_total{result=\"" +
                                             result + "\"} " + std::to_string(count) + "\n"));
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  kube::SlowClient client_{api_};
  kube::TaskGroup tasks_{io_.get_executor()};
  kube::Metrics metrics_;
  inspection::FakeInspector images_;
  cluster_controller::InspectionMetrics inspection_metrics_{metrics_};
  cluster_controller::InspectionQueue queue_{images_, clock_, tasks_, inspection_metrics_};
  cluster_controller::PullSecrets secrets_{client_, clock_};
  cluster_controller::PodInspector inspector_{
      queue_, secrets_, inspection_metrics_, clock_, {.readers = kSecretReaders}};
  WarningWebhook webhook_{queue_, inspector_, io_.get_executor(), client_, clock_,
                          tasks_, metrics_};
};

TEST_F(WarningWebhookTest, AnImageThatLacksTheArchitectureCausesAWarning) {
  images_.SetResult("x:1", ArchitectureSet{"amd64", "s390x"});
  EXPECT_THAT(
      Warnings(Adds("x:1")),
      ElementsAre("image \"x:1\" of the ephemeral container \"debugger\" is not for arm64, the "
                  "architecture of the node \"worker-3\"; it is for amd64, s390x"));
  ExpectReviews("warned", 1);
}

TEST_F(WarningWebhookTest, OtherRequestsCauseNone) {
  images_.SetDefault(ArchitectureSet{"amd64"});
  images_.SetResult("fits:1", ArchitectureSet{"amd64", "arm64"});
  EXPECT_THAT(Warnings(Adds("fits:1")), IsEmpty());
  EXPECT_THAT(Warnings(ReviewOf({EphemeralContainer("debugger", "x:1", "Never")})), IsEmpty());
  EXPECT_THAT(Warnings(ReviewOf({EphemeralContainer("debugger", "x:1")}, {}, "")), IsEmpty());
  EXPECT_THAT(Warnings(ReviewOf({}, {EphemeralContainer("old", "x:1")})), IsEmpty());
  Json create = Adds("x:1");
  create["request"]["operation"] = "CREATE";
  EXPECT_THAT(Warnings(create), IsEmpty());
  EXPECT_THAT(images_.inspected(), ElementsAre("fits:1"));
  ExpectReviews("unwarned", 5);
}

TEST_F(WarningWebhookTest, EachNewContainerIsExamined) {
  images_.SetResult("x:1", ArchitectureSet{"amd64"});
  images_.SetResult("y:1", ArchitectureSet{"arm64"});
  images_.SetResult("z:1", ArchitectureSet{"s390x"});
  EXPECT_THAT(Warnings(ReviewOf({EphemeralContainer("a", "x:1"), EphemeralContainer("b", "y:1"),
                                 EphemeralContainer("c", "z:1")},
                                {EphemeralContainer("old", "old:1")})),
              ElementsAre(HasSubstr("container \"a\""), HasSubstr("container \"c\"")));
}

// As the images of the pod itself.
TEST_F(WarningWebhookTest, ImagesAreInspectedWithThePullSecretsOfThePod) {
  kube::core::Secret secret;
  secret.mutable_metadata()->set_namespace_("shop");
  secret.mutable_metadata()->set_name("pull");
  secret.set_type("kubernetes.io/dockerconfigjson");
  (*secret.mutable_data())[".dockerconfigjson"] =
      R"({"auths": {"r.io": {"username": "ann", "password": "p"}}})";
  api_.Create(secret);
  images_.SetDefault(ArchitectureSet{"amd64"});
  Json review = ReviewOf({EphemeralContainer("debugger", "r.io/x:1", "Always")});
  UseSecrets(review, {"pull"});
  EXPECT_THAT(Warnings(review), SizeIs(1));
  ASSERT_THAT(images_.requests(), SizeIs(1));
  const inspection::ImageRequest& request = images_.requests()[0];
  EXPECT_TRUE(request.always_pull);
  ASSERT_NE(request.keyring, nullptr);
  EXPECT_EQ(request.keyring->Match("r.io", "x")[0].username, "ann");
}

TEST_F(WarningWebhookTest, WhatIsNotKnownCausesNone) {
  images_.SetDefault(kube::Error::NotFound("no such image"));
  EXPECT_THAT(Warnings(Adds("x:1")), IsEmpty());
  ExpectSkipped("inspection", 1);
  images_.SetDefault(ArchitectureSet{"amd64"});
  EXPECT_THAT(Warnings(ReviewOf({EphemeralContainer("debugger", "y:1")}, {}, "gone")), IsEmpty());
  ExpectSkipped("node", 1);
}

// --- Bounds.

TEST_F(WarningWebhookTest, ARegistryThatHangsDelaysTheAnswerByABoundedTime) {
  images_.SetResult("known:1", ArchitectureSet{"amd64"});
  SharedAsked asked =
      Ask(ReviewOf({EphemeralContainer("a", "known:1"), EphemeralContainer("b", "hangs:1")}));
  Advance(kAnswerWithin - 1ms);
  EXPECT_FALSE(asked->answered);
  Advance(1ms);
  ASSERT_TRUE(asked->answered);
  // What is known by then is in the answer.
  EXPECT_THAT(asked->warnings, ElementsAre(HasSubstr("known:1")));
  ExpectSkipped("deadline", 1);
  // A later result finds nobody.
  images_.SetResult("hangs:1", ArchitectureSet{"amd64"});
  kube::Drain(io_);
  EXPECT_EQ(queue_.queued(), 0u);
  ExpectReviews("warned", 1);
}

TEST_F(WarningWebhookTest, AnAnswerThatComesInTimeIsUsed) {
  SharedAsked asked = Ask(Adds("slow:1"));
  Advance(2s);
  EXPECT_FALSE(asked->answered);
  images_.SetResult("slow:1", ArchitectureSet{"amd64"});
  kube::Drain(io_);
  ASSERT_TRUE(asked->answered);
  EXPECT_THAT(asked->warnings, SizeIs(1));
}

TEST_F(WarningWebhookTest, AnApiServerThatHangsDelaysTheAnswerByABoundedTime) {
  client_.Hold("/secrets/");
  images_.SetDefault(ArchitectureSet{"amd64"});
  Json review = Adds("x:1");
  UseSecrets(review, {"pull"});
  SharedAsked asked = Ask(review);
  Advance(kAnswerWithin);
  ASSERT_TRUE(asked->answered);
  EXPECT_EQ(asked->status, 200);
  EXPECT_THAT(asked->warnings, IsEmpty());
  // The task holds its place until its calls have ended.
  EXPECT_EQ(client_.waiting(), 1);
  client_.Release();
  kube::Drain(io_);
  ExpectSkipped("deadline", 1);
}

TEST_F(WarningWebhookTest, ANamespaceCannotTakeAllPlaces) {
  std::vector<SharedAsked> all;
  for (size_t i = 0; i < kReviews.per_namespace; ++i) all.push_back(Ask(Adds("hangs:1")));
  for (const SharedAsked& asked : all) EXPECT_FALSE(asked->answered);
  SharedAsked further = Ask(Adds("hangs:1"));
  EXPECT_TRUE(further->answered);
  EXPECT_EQ(further->status, 200);
  EXPECT_THAT(further->warnings, IsEmpty());
  ExpectSkipped("busy", 1);
  images_.SetResult("x:1", ArchitectureSet{"amd64"});
  EXPECT_THAT(Warnings(Adds("x:1", "other")), SizeIs(1));
  // Places that are free again are used.
  Advance(kAnswerWithin);
  for (const SharedAsked& asked : all) EXPECT_TRUE(asked->answered);
  EXPECT_THAT(Warnings(Adds("x:1")), SizeIs(1));
  ExpectSkipped("busy", 1);
}

// A handful of namespaces takes none from the others.
TEST_F(WarningWebhookTest, ReviewsAtATimeAreBounded) {
  std::vector<SharedAsked> all;
  for (size_t i = 0; i < kReviews.total; ++i)
    all.push_back(Ask(Adds("hangs:1", "ns" + std::to_string(i / kReviews.per_namespace))));
  for (const SharedAsked& asked : all) EXPECT_FALSE(asked->answered);
  images_.SetResult("x:1", ArchitectureSet{"amd64"});
  EXPECT_THAT(Warnings(Adds("x:1", "another")), SizeIs(1));
  ExpectSkipped("busy", 0);
  SharedAsked first = Ask(Adds("hangs:1", "another"));
  EXPECT_FALSE(first->answered);
  EXPECT_THAT(Warnings(Adds("x:1", "another")), IsEmpty());
  ExpectSkipped("busy", 1);
  Advance(kAnswerWithin);
  EXPECT_THAT(Warnings(Adds("x:1", "another")), SizeIs(1));
}

// Also of many namespaces with one review each.
TEST_F(WarningWebhookTest, ReviewsOfAllNamespacesHaveAMaximum) {
  std::vector<SharedAsked> all;
  for (size_t i = 0; i < kMaxReviews; ++i)
    all.push_back(Ask(Adds("hangs:1", "ns" + std::to_string(i))));
  for (const SharedAsked& asked : all) EXPECT_FALSE(asked->answered);
  ExpectSkipped("busy", 0);
  images_.SetResult("x:1", ArchitectureSet{"amd64"});
  EXPECT_THAT(Warnings(Adds("x:1", "another")), IsEmpty());
  ExpectSkipped("busy", 1);
  Advance(kAnswerWithin);
  for (const SharedAsked& asked : all) EXPECT_TRUE(asked->answered);
  EXPECT_THAT(Warnings(Adds("x:1", "another")), SizeIs(1));
}

// A review costs the API server as many reads as the pod has Secrets, however many containers it
// adds, and whenever their images become known.
TEST_F(WarningWebhookTest, TheSecretsOfAReviewAreReadOnce) {
  std::vector<Json> many;
  for (size_t i = 0; i < kMaxContainers; ++i)
    many.push_back(EphemeralContainer("c" + std::to_string(i), "r.io/x:" + std::to_string(i)));
  Json review = ReviewOf(many);
  UseSecrets(review, {"one", "two"});
  SharedAsked asked = Ask(review);
  for (size_t i = 0; i < kMaxContainers; ++i) {
    EXPECT_FALSE(asked->answered);
    images_.SetResult("r.io/x:" + std::to_string(i), ArchitectureSet{"amd64"});
    kube::Drain(io_);
  }
  ASSERT_TRUE(asked->answered);
  EXPECT_THAT(asked->warnings, SizeIs(kMaxContainers));
  EXPECT_EQ(api_.CountCalls("/secrets/one"), 1);
  EXPECT_EQ(api_.CountCalls("/secrets/two"), 1);
}

// Its place is free again then.
TEST_F(WarningWebhookTest, AfterTheDeadlineNoFurtherCallIsMade) {
  client_.Hold("/secrets/");
  Json review = ReviewOf({EphemeralContainer("a", "x:1"), EphemeralContainer("b", "y:1")});
  UseSecrets(review, {"one", "two", "three"});
  SharedAsked asked = Ask(review);
  Advance(kAnswerWithin);
  EXPECT_TRUE(asked->answered);
  client_.Release();
  kube::Drain(io_);
  EXPECT_EQ(client_.waiting(), 0);
  EXPECT_EQ(api_.CountCalls("/secrets/"), 1);
  ExpectSkipped("deadline", 2);
}

// An API server that fails is not asked again for each container.
TEST_F(WarningWebhookTest, SecretsThatCannotBeReadAreReadOnce) {
  std::vector<Json> many;
  for (size_t i = 0; i < kMaxContainers; ++i)
    many.push_back(EphemeralContainer("c" + std::to_string(i), "x:" + std::to_string(i)));
  Json review = ReviewOf(many);
  UseSecrets(review, {"one", "two"});
  api_.FailNext(kube::Error::Unavailable("503"), "/secrets/", 100);
  EXPECT_THAT(Warnings(review), IsEmpty());
  EXPECT_EQ(api_.CountCalls("/secrets/"), 1);
  ExpectSkipped("inspection", static_cast<int>(kMaxContainers));
  EXPECT_THAT(images_.inspected(), IsEmpty());
}

// Whatever the number of other namespaces with many Secrets that are read slowly.
TEST_F(WarningWebhookTest, TheSecretsOfANewNamespaceAreReadSoon) {
  images_.SetDefault(ArchitectureSet{"amd64"});
  client_.Hold("/secrets/slow-");
  std::vector<SharedAsked> all;
  for (size_t i = 0; i < kSecretReaders.total; ++i) {
    Json review = Adds("x:1", "ns" + std::to_string(i / kSecretReaders.per_namespace));
    std::string name = "slow-" + std::to_string(i);
    UseSecrets(review, {name + "-a", name + "-b", name + "-c"});
    all.push_back(Ask(review));
  }
  Json review = Adds("x:1", "another");
  UseSecrets(review, {"own"});
  SharedAsked modest = Ask(review);
  client_.Release(static_cast<int>(kSecretReaders.total));
  kube::Drain(io_);
  for (const SharedAsked& asked : all) EXPECT_FALSE(asked->answered);
  EXPECT_TRUE(modest->answered);
  EXPECT_THAT(modest->warnings, SizeIs(1));
  client_.Release();
  kube::Drain(io_);
}

// A large review that waits keeps no memory of the server from others.
TEST_F(WarningWebhookTest, TheMemoryOfTheBodyIsReleasedBeforeTheWait) {
  bool released = false;
  SharedAsked asked = Ask(kube::DumpJson(Adds("hangs:1")), [&released] { released = true; });
  EXPECT_FALSE(asked->answered);
  EXPECT_TRUE(released);
  Advance(kAnswerWithin);
  EXPECT_TRUE(asked->answered);
}

TEST_F(WarningWebhookTest, ContainersAndWarningsOfAReviewAreBounded) {
  images_.SetDefault(ArchitectureSet{"amd64"});
  std::vector<Json> many;
  for (size_t i = 0; i < kMaxContainers + 5; ++i) {
    many.push_back(EphemeralContainer("c" + std::to_string(i),
                                      "r.io/" + std::string(900, 'x') + ":" + std::to_string(i)));
  }
  std::vector<std::string> warnings = Warnings(ReviewOf(many));
  EXPECT_THAT(warnings, SizeIs(kMaxContainers));
  EXPECT_THAT(warnings, Each(testing::SizeIs(testing::Le(256u))));
  EXPECT_THAT(images_.inspected(), SizeIs(kMaxContainers));
  ExpectSkipped("containers", 5);
}

TEST_F(WarningWebhookTest, AHostileReviewDoesNothing) {
  images_.SetDefault(ArchitectureSet{"amd64"});
  for (const char* body : {"", "{", "null", "[]", R"({"kind": "AdmissionReview"})"})
    EXPECT_EQ(Ask(std::string(body))->status, 400) << body;
  ExpectReviews("invalid", 5);
  Json review = Adds("x:1");
  Json& spec = review["request"]["object"]["spec"];
  spec["ephemeralContainers"] = Json::array({1, nullptr, "x", Json::array(), Json::object()});
  spec["imagePullSecrets"] = Json::array({1, nullptr, {{"name", 7}}});
  EXPECT_THAT(Warnings(review), IsEmpty());
  review = ReviewOf({EphemeralContainer("a\nb", "x\r\n\x01:1")}, {}, "worker-3");
  std::vector<std::string> warnings = Warnings(review);
  ASSERT_THAT(warnings, SizeIs(1));
  EXPECT_EQ(warnings[0].find_first_of("\r\n\x01"), std::string::npos);
  for (const char* name : {"../../nodes/x", "a b", "?watch=true"}) {
    EXPECT_THAT(Warnings(ReviewOf({EphemeralContainer("d", "x:1")}, {}, name)), IsEmpty());
    EXPECT_THAT(Warnings(Adds("x:1", name)), IsEmpty());
  }
  // None of these names got into the path of a call.
  EXPECT_EQ(api_.CountCalls(""), api_.CountCalls("GET /api/v1/nodes/worker-3"));
}

}  // namespace
}  // namespace ephemeral
