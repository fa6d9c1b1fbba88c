// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/webhook/policy_webhook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "kube/base/base64.h"
#include "kube/base/task_group.h"
#include "kube/testing/cost.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/heap.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/testing/slow_client.h"
#include "kube/types/kinds.h"
#include "scheduling-policies/names.h"
#include "scheduling-policies/webhook/testing/reviews.h"

namespace policy {
namespace {

using namespace std::chrono_literals;
using kube::Json;
using kube::core::Namespace;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr char kOperatorNamespace[] = "operator";
const kube::ObjectKey kLease{kOperatorNamespace, "replica-1"};

class PolicyWebhookTest : public testing::Test {
 protected:
  PolicyWebhookTest() { CreateNamespace("shop"); }
  ~PolicyWebhookTest() override {
    EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), kube::IsOk());
  }

  void Start() {
    replica_.Start(tasks_);
    kube::Drain(io_);
  }
  void Advance(kube::Duration step) {
    clock_.Advance(step);
    kube::Drain(io_);
  }
  void CreateNamespace(const std::string& name, std::map<std::string, std::string> labels = {}) {
    Namespace ns;
    ns.mutable_metadata()->set_name(name);
    for (const auto& [key, value] : labels) (*ns.mutable_metadata()->mutable_labels())[key] = value;
    api_.Create(ns);
    kube::Drain(io_);
  }
  uint64_t Create(const std::string& words) {
    Json json = PolicyJson(words);
    json = api_.CreateJson(words[0] == 'C' ? kClusterPodSchedulingPolicies : kPodSchedulingPolicies,
                           json);
    kube::Drain(io_);
    return VersionNumber(json["metadata"]["resourceVersion"].get<std::string>());
  }
  // From now on, the watches have no events.
  void BreakWatches() {
    api_.FailNext(kube::Error::Unavailable("503"), "WATCH", 1000);
    api_.CloseWatches();
    kube::Drain(io_);
  }

  kube::HttpReply Answer(const Json& review, const std::string& path = "/policies") {
    auto reply = kube::Run(io_, webhook_.Answer({"POST", path, kube::DumpJson(review)}));
    EXPECT_THAT(reply, kube::IsOk());
    return reply ? *reply : kube::HttpReply();
  }
  // The object of a review as the API server stores it.
  Json Changed(const Json& review, const std::string& path = "/policies") {
    kube::HttpReply reply = Answer(review, path);
    EXPECT_EQ(reply.status, 200) << reply.body;
    Json response = (*kube::ParseJson(reply.body))["response"];
    EXPECT_EQ(response["uid"], kReviewUid);
    EXPECT_EQ(response["allowed"], true);
    warnings_ = response.value("warnings", Json::array());
    std::string patch =
        response.contains("patch") ? *kube::Base64Decode(response["patch"].get<std::string>()) : "";
    return Patched(review["request"]["object"], patch);
  }
  Json Pod(const std::string& words = "-", const std::string& ns = "shop") {
    Json pod = ObjectOf("pods", words);
    pod["metadata"]["namespace"] = ns;
    return ReviewOf("pods", "CREATE", pod);
  }
  // True if a new pod of the namespace gets the node selector k:v.
  bool IsApplied(const std::string& ns = "shop") {
    return Changed(Pod("-", ns))["spec"].value("nodeSelector", Json()) == Json({{"k", "v"}});
  }
  int Status(const std::string& ns = "shop") { return Answer(Pod("-", ns)).status; }
  uint64_t SeenOnLease() {
    std::optional<Json> lease = api_.GetJson(kube::kLeases, kLease);
    if (!lease) return 0;
    return VersionNumber(
        (*lease)["metadata"]["annotations"][std::string(kSeenAnnotation)].get<std::string>());
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  kube::TaskGroup tasks_{io_.get_executor()};
  kube::Metrics metrics_;
  kube::Metrics other_metrics_;
  PolicyReplica replica_{api_, clock_, kLease.ns, kLease.name};
  kube::SlowClient client_{api_};
  PolicyWebhook webhook_{
      {.operator_namespace = kOperatorNamespace}, replica_, client_, metrics_, clock_};
  Json warnings_;
};

TEST_F(PolicyWebhookTest, AppliesPoliciesToPodsAndTemplates) {
  Create("C-c k:c");
  Create("N-a k:v m:w t(k=v)");
  Start();
  Json pod = Changed(Pod("k2:own"));
  EXPECT_EQ(pod["spec"]["nodeSelector"], Json({{"k", "c"}, {"m", "w"}, {"k2", "own"}}));
  EXPECT_EQ(pod["spec"]["tolerations"].size(), 1u);
  Json cron_job = Changed(ReviewOf("batch/cronjobs", "CREATE", ObjectOf("batch/cronjobs", "-")));
  EXPECT_EQ(cron_job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["nodeSelector"],
            Json({{"k", "c"}, {"m", "w"}}));
  EXPECT_THAT(metrics_.Render(),
              HasSubstr("mto_ppo_policy_wh_reviews_total{result=\"patched\"} 2\n"));
}

TEST_F(PolicyWebhookTest, APatchTwiceIsAPatchOnce) {
  Create("N-a [x][y] k:v t(k=v) P9[a] T");
  Start();
  Json review = Pod("[a]");
  Json once = Changed(review);
  EXPECT_NE(once, review["request"]["object"]);
  review["request"]["object"] = once;
  EXPECT_EQ(Changed(review), once);
}

TEST_F(PolicyWebhookTest, LeavesOthersUnchanged) {
  Create("C-c k:v");
  CreateNamespace("kube-other");
  CreateNamespace("system", {{"role", "kube-system"}});
  CreateNamespace(kOperatorNamespace);
  Start();
  EXPECT_TRUE(IsApplied());
  for (const char* ns : {"kube-other", "system", kOperatorNamespace, "Not a name", ""})
    EXPECT_FALSE(IsApplied(ns)) << ns;
  Json update = ReviewOf("pods", "UPDATE", ObjectOf("pods", "-"));
  EXPECT_EQ(Changed(update), update["request"]["object"]);
  Json service = ReviewOf("services", "CREATE", ObjectOf("pods", "-"));
  EXPECT_EQ(Changed(service), service["request"]["object"]);
}

// Everyone who may create pods can label them.
TEST_F(PolicyWebhookTest, PodsThatAreLabelledAsOperandsGetPoliciesOfTheCluster) {
  Create("C-c k:c");
  Create("N-a m:w");
  Start();
  Json pod = Pod();
  pod["request"]["object"]["metadata"]["labels"]["multiarch.openshift.io/operand"] = "shard";
  EXPECT_EQ(Changed(pod)["spec"]["nodeSelector"], Json({{"k", "c"}}));
}

TEST_F(PolicyWebhookTest, SkippedCriteriaAreWarnings) {
  for (int i = 0; i < 15; ++i)
    Create("N-" + std::string(100, 'a') + std::to_string(i) + " node=n1");
  Start();
  Json pod = Pod("gate");
  EXPECT_EQ(Changed(pod), pod["request"]["object"]);
  EXPECT_EQ(warnings_.size(), 10u);
  for (const Json& warning : warnings_) EXPECT_LE(warning.get<std::string>().size(), 256u);
  EXPECT_THAT(warnings_[0].get<std::string>(), HasSubstr("the pod has scheduling gates"));
  EXPECT_THAT(metrics_.Render(), HasSubstr("mto_ppo_policy_wh_skipped_criteria_total 15\n"));
}

TEST_F(PolicyWebhookTest, PoliciesBeyondTheLimitAreAWarning) {
  Start();
  std::string large = "N-large [";
  for (int i = 0; i < 90; ++i)
    large += (i == 0 ? "" : ",") + std::string(900, 'x') + std::to_string(i);
  Create(large + "]");
  Json pod = Pod();
  EXPECT_EQ(Changed(pod), pod["request"]["object"]);
  EXPECT_THAT(kube::DumpJson(warnings_), HasSubstr("1 scheduling policies of the namespace"));
  EXPECT_THAT(metrics_.Render(), HasSubstr("mto_ppo_policy_wh_policies_left_out 1\n"));
}

// What cannot be merged is left to the API server.
TEST_F(PolicyWebhookTest, FieldsOfAWrongTypeAreAWarning) {
  Create("N-a t(k=v)");
  Start();
  Json pod = Pod();
  pod["request"]["object"]["spec"]["tolerations"] = "x";
  EXPECT_EQ(Changed(pod), pod["request"]["object"]);
  EXPECT_THAT(kube::DumpJson(warnings_), HasSubstr("tolerations has the wrong type"));
}

// --- Bounds.

TEST_F(PolicyWebhookTest, OneNamespaceDoesNotDelayTheOthers) {
  Create("C-c k:v");
  for (int i = 0; i < 10; ++i) CreateNamespace("other-" + std::to_string(i));
  Start();
  std::vector<std::string> answered;
  auto ask = [&](const std::string& ns) {
    kube::HttpCall call{"POST", "/policies", kube::DumpJson(Pod("-", ns))};
    boost::asio::co_spawn(io_, webhook_.Answer(std::move(call)),
                          [&answered, ns](std::exception_ptr, kube::Result<kube::HttpReply> reply) {
                            if (reply && reply->status == 200) answered.push_back(ns);
                          });
  };
  for (int i = 0; i < 50; ++i) ask("shop");
  for (int i = 0; i < 10; ++i) ask("other-" + std::to_string(i));
  ASSERT_TRUE(kube::RunUntil(io_, [&] { return answered.size() == 60; }));
  auto last = std::find_if(answered.rbegin(), answered.rend(),
                           [](const std::string& ns) { return ns != "shop"; });
  // The first turns may have passed before the others arrived.
  EXPECT_LE(std::count(last, answered.rend(), "shop"), 3);
}

// Requests that wait hold connections, of which others need some.
TEST_F(PolicyWebhookTest, RequestsOfOneNamespaceThatWaitAreLimited) {
  Create("C-c k:v");
  Start();
  int served = 0;
  int refused = 0;
  for (int i = 0; i < 200; ++i) {
    kube::HttpCall call{"POST", "/policies", kube::DumpJson(Pod())};
    boost::asio::co_spawn(io_, webhook_.Answer(std::move(call)),
                          [&](std::exception_ptr, kube::Result<kube::HttpReply> reply) {
                            if (reply) ++(reply->status == 200 ? served : refused);
                          });
  }
  ASSERT_TRUE(kube::RunUntil(io_, [&] { return served + refused == 200; }));
  EXPECT_EQ(served, 96);
  EXPECT_THAT(metrics_.Render(),
              HasSubstr("mto_ppo_policy_wh_reviews_total{result=\"failed\"} 104"));
}

// As JSON values, small items need thirty times the memory of their text.
TEST_F(PolicyWebhookTest, RequestsThatWaitHoldLittleMoreThanTheirText) {
  if (!kube::kHeapIsMeasured) GTEST_SKIP() << "a sanitizer has a heap of its own";
  constexpr int kRequests = 20;
  Create("C-c k:v");
  Start();
  Json pod = Pod();
  pod["request"]["object"]["spec"]["tolerations"] = Json(80'000, Json::object());
  const std::string body = kube::DumpJson(pod);
  auto warmed = kube::Run(io_, webhook_.Answer({"POST", "/policies", body}));
  ASSERT_THAT(warmed, kube::IsOk());
  int answered = 0;
  size_t before = kube::HeapInUse();
  for (int i = 0; i < kRequests; ++i) {
    boost::asio::co_spawn(io_, webhook_.Answer({"POST", "/policies", body}),
                          [&](std::exception_ptr, kube::Result<kube::HttpReply> reply) {
                            if (reply && reply->status == 200) ++answered;
                          });
  }
  for (int i = 0; i < kRequests; ++i) io_.poll_one();
  EXPECT_EQ(answered, 0);
  EXPECT_LT(kube::HeapInUse() - before, kRequests * 3 * body.size());
  ASSERT_TRUE(kube::RunUntil(io_, [&] { return answered == kRequests; }));
}

TEST_F(PolicyWebhookTest, LargeSchedulingFieldsAreRefusedBeforeTheyAreMerged) {
  Create("N-a P9[a] T(all) k:v");
  CreateNamespace("none");
  Start();
  Json term = {{"topologyKey", "zone"}, {"labelSelector", {{"matchLabels", {{"app", "x"}}}}}};
  Json labels = Json::object();
  for (int i = 0; i < 20'000; ++i) labels["label-" + std::to_string(i)] = "x";
  for (const auto& [resource, large] :
       {std::pair("apps/deployments", "affinity"), std::pair("apps/deployments", "labels"),
        std::pair("apps/daemonsets", "affinity"), std::pair("apps/daemonsets", "labels"),
        std::pair("apps/daemonsets", "own labels")}) {
    for (const char* operation : {"CREATE", "UPDATE"}) {
      for (const char* ns : {"shop", "none"}) {
        Json object = ObjectOf(resource, "-");
        object["metadata"]["namespace"] = ns;
        Json& pod = object["spec"]["template"];
        if (large == std::string("labels")) pod["metadata"]["labels"] = labels;
        if (large == std::string("own labels")) object["metadata"]["labels"] = labels;
        if (large == std::string("affinity")) {
          pod["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
              Json(15'000, term);
        }
        std::string body = kube::DumpJson(ReviewOf(resource, operation, object));
        kube::Cost before = kube::CostOfThread();
        auto reply = kube::Run(io_, webhook_.Answer({"POST", "/policies", body}));
        int64_t allocations = (kube::CostOfThread() - before).allocations;
        ASSERT_THAT(reply, kube::IsOk());
        EXPECT_LT(allocations, 500) << large;
        Json response = (*kube::ParseJson(reply->body))["response"];
        // The pods of a DaemonSet never reach the webhook: nothing else would refuse them.
        bool pods_are_refused = resource == std::string("apps/deployments");
        bool refused =
            ns == std::string("shop") && (operation == std::string("CREATE") || !pods_are_refused);
        EXPECT_EQ(response["allowed"], !refused) << resource << " " << reply->body;
        EXPECT_FALSE(response.contains("patch")) << reply->body;
        bool told = reply->body.find("at most 262144") != std::string::npos;
        EXPECT_EQ(told, ns == std::string("shop")) << reply->body;
      }
    }
  }
}

// A user can write a pod to which no policy can be added.
TEST_F(PolicyWebhookTest, ALimitSkipsNoClusterPolicyWhereTheyAreRequired) {
  Create("C-two [x][y]");
  Create("N-two [p][q] k:v");
  Start();
  PolicyWebhook strict{{.operator_namespace = kOperatorNamespace, .require_cluster_policies = true},
                       replica_,
                       client_,
                       other_metrics_,
                       clock_};
  std::string terms;
  for (int i = 0; i < 200; ++i) terms += "[a" + std::to_string(i) + "]";
  std::string fits_the_cluster_alone = terms.substr(0, terms.find("[a100]"));
  struct Row {
    const char* resource;
    const char* operation;
    std::string words;
    bool denied;
  };
  for (const Row& row :
       {Row{"pods", "CREATE", terms, true}, Row{"pods", "CREATE", fits_the_cluster_alone, false},
        Row{"apps/deployments", "CREATE", terms, true},
        Row{"apps/deployments", "UPDATE", terms, false},
        Row{"apps/daemonsets", "UPDATE", terms, true}}) {
    Json object = ObjectOf(row.resource, row.words);
    object["metadata"]["namespace"] = "shop";
    std::string body = kube::DumpJson(ReviewOf(row.resource, row.operation, object));
    for (PolicyWebhook* webhook : {&webhook_, &strict}) {
      auto reply = kube::Run(io_, webhook->Answer({"POST", "/policies", body}));
      ASSERT_THAT(reply, kube::IsOk());
      bool denied = row.denied && webhook == &strict;
      EXPECT_EQ((*kube::ParseJson(reply->body))["response"]["allowed"], !denied)
          << row.resource << " " << row.operation << " " << reply->body;
      if (!denied) continue;
      EXPECT_THAT(reply->body, HasSubstr("ClusterPodSchedulingPolicy two: the required node "
                                         "affinity is skipped: it would have more than 256 terms"));
    }
  }
}

// A list of owners is not copied, however long it is.
TEST_F(PolicyWebhookTest, OwnersCostLittle) {
  Create("N-a k:v");
  Start();
  Json pod = Pod();
  pod["request"]["object"]["metadata"]["ownerReferences"] = Json(
      10'000,
      {{"apiVersion", "v1"}, {"kind", "N"}, {"name", "n"}, {"uid", "u"}, {"controller", true}});
  std::string body = kube::DumpJson(pod);
  kube::Cost before = kube::CostOfThread();
  auto reply = kube::Run(io_, webhook_.Answer({"POST", "/policies", body}));
  EXPECT_LT((kube::CostOfThread() - before).allocations, 500);
  ASSERT_THAT(reply, kube::IsOk());
  EXPECT_THAT(reply->body, HasSubstr("\"patch\""));
}

// --- Freshness.

TEST_F(PolicyWebhookTest, RegistersBeforeItLists) {
  Start();
  ASSERT_FALSE(api_.calls().empty());
  EXPECT_THAT(api_.calls().front(), HasSubstr("/leases/"));
  for (size_t i = 0; i < 2; ++i) EXPECT_THAT(api_.calls()[i], Not(HasSubstr("WATCH")));
}

TEST_F(PolicyWebhookTest, WhatIsAcknowledgedIsApplied) {
  Start();
  EXPECT_FALSE(IsApplied());
  uint64_t version = Create("N-a k:v");
  EXPECT_LT(SeenOnLease(), version);
  Advance(100ms);
  EXPECT_EQ(SeenOnLease(), version);
  EXPECT_TRUE(IsApplied());
}

TEST_F(PolicyWebhookTest, ThePoliciesOfTheFirstListAreAcknowledged) {
  uint64_t version = Create("N-a k:v");
  Start();
  Advance(100ms);
  EXPECT_EQ(SeenOnLease(), version);
}

TEST_F(PolicyWebhookTest, AWatchThatIsBehindAcknowledgesNothing) {
  Start();
  BreakWatches();
  uint64_t version = Create("N-a k:v");
  Advance(10s);
  EXPECT_LT(SeenOnLease(), version);
  EXPECT_EQ(Status(), 200) << "the operator waits for this replica";
}

TEST_F(PolicyWebhookTest, WithoutARenewedLeaseItAnswersNothing) {
  Create("N-a k:v");
  EXPECT_EQ(Status(), 500) << "not started";
  Start();
  EXPECT_THAT(replica_.InForce(), kube::IsOk());
  EXPECT_TRUE(IsApplied());
  api_.Stop();
  for (int i = 0; i < 150; ++i) Advance(100ms);
  EXPECT_THAT(replica_.InForce(), kube::FailsWith(kube::Code::kUnavailable, HasSubstr("Lease")));
  EXPECT_EQ(Status(), 500);
  EXPECT_EQ(Answer(Pod(), "/policies/probe/abc").status, 500);
  EXPECT_THAT(metrics_.Render(),
              HasSubstr("mto_ppo_policy_wh_reviews_total{result=\"failed\"} 3\n"));
}

// The operator deletes the Lease of a replica that is cut off, and then waits for the others alone.
TEST_F(PolicyWebhookTest, AReplicaThatWasGivenUpListsAgainBeforeItAnswers) {
  Start();
  api_.Stop();
  for (int i = 0; i < 400; ++i) Advance(100ms);
  api_.DeleteJson(kube::kLeases, kLease);
  uint64_t version = Create("N-a k:v");
  // The Lease can be written again, but the watches are still behind.
  api_.Start();
  api_.FailNext(kube::Error::Unavailable("503"), "WATCH", 1000);
  for (int i = 0; i < 100; ++i) Advance(100ms);
  EXPECT_TRUE(api_.GetJson(kube::kLeases, kLease));
  EXPECT_THAT(replica_.InForce(), kube::FailsWith(kube::Code::kUnavailable, HasSubstr("listed")));
  EXPECT_EQ(Status(), 500);
  EXPECT_LT(SeenOnLease(), version);
}

TEST_F(PolicyWebhookTest, EndDeletesTheLease) {
  Start();
  EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), kube::IsOk());
  EXPECT_THAT(kube::Run(io_, replica_.End()), kube::IsOk());
  EXPECT_FALSE(api_.GetJson(kube::kLeases, kLease));
}

// --- Namespaces that the watch does not have.

TEST_F(PolicyWebhookTest, AnUnknownNamespaceIsReadOnce) {
  Create("C-c k:v");
  Start();
  BreakWatches();
  CreateNamespace("new");
  CreateNamespace("new-system", {{"role", "kube-system"}});
  EXPECT_TRUE(IsApplied("new"));
  EXPECT_FALSE(IsApplied("new-system"));
  EXPECT_FALSE(IsApplied("missing"));
  EXPECT_EQ(api_.CountCalls("GET /api/v1/namespaces/"), 3);
  EXPECT_TRUE(IsApplied("shop"));
  EXPECT_EQ(api_.CountCalls("GET /api/v1/namespaces/"), 3) << "a known one is not read";
}

kube::asio::awaitable<void> AnswerInto(PolicyWebhook& webhook, kube::HttpCall call,
                                       std::vector<int>& statuses) {
  auto reply = co_await webhook.Answer(std::move(call));
  statuses.push_back(reply->status);
}

TEST_F(PolicyWebhookTest, ConcurrentReviewsShareARead) {
  Create("C-c k:v");
  Start();
  BreakWatches();
  client_.Hold("/namespaces/new");
  std::vector<int> statuses;
  auto ask = [&](const std::string& ns) {
    kube::HttpCall call{"POST", "/policies", kube::DumpJson(Pod("-", ns))};
    tasks_.Spawn("review", AnswerInto(webhook_, std::move(call), statuses));
    kube::Drain(io_);
  };
  CreateNamespace("new");
  for (int i = 0; i < 50; ++i) ask("new");
  EXPECT_THAT(statuses, IsEmpty());
  EXPECT_EQ(Status("shop"), 200) << "others do not wait";
  // The reads of different namespaces are bounded.
  for (int i = 0; i < 20; ++i) ask("new" + std::to_string(i));
  EXPECT_EQ(statuses, std::vector<int>(5, 500));
  client_.Release();
  kube::Drain(io_);
  EXPECT_EQ(std::count(statuses.begin(), statuses.end(), 200), 50 + 15);
  EXPECT_EQ(api_.CountCalls("GET /api/v1/namespaces/new"), 2 + 15);
}

TEST_F(PolicyWebhookTest, ANamespaceThatCannotBeReadIsAnError) {
  Create("C-c k:v");
  Start();
  BreakWatches();
  CreateNamespace("new");
  api_.FailNext(kube::Error::DeadlineExceeded("1 s"), "GET /api/v1/namespaces/new");
  EXPECT_EQ(Status("new"), 500);
  EXPECT_EQ(Status("new"), 200);
}

// --- Probes and broken requests.

TEST_F(PolicyWebhookTest, AProbeComesBackWithItsHash) {
  Start();
  for (bool annotated : {false, true}) {
    Json deployment = Workload("-");
    deployment["metadata"]["namespace"] = kOperatorNamespace;
    if (annotated) deployment["metadata"]["annotations"] = {{"other", "x"}};
    Json review = ReviewOf("apps/deployments", "CREATE", deployment);
    Json changed = Changed(review, "/policies/probe/0123abc");
    deployment["metadata"]["annotations"][std::string(kProbeAnnotation)] = "0123abc";
    EXPECT_EQ(changed, deployment);
  }
  Json review = ReviewOf("apps/deployments", "CREATE", Workload("-"));
  for (std::string hash : {"", "A", "a/b", "%22", "a\"b"})
    EXPECT_EQ(Answer(review, "/policies/probe/" + hash).status, 404) << hash;
  EXPECT_EQ(Answer(review, "/policies/probe/" + std::string(65, 'a')).status, 404);
}

TEST_F(PolicyWebhookTest, WhatIsNoReviewIsABadRequest) {
  Start();
  std::string whole = kube::DumpJson(Pod("[a] T"));
  int requests = 0;
  for (std::string body : {std::string(), std::string(1'000'000, '['), std::string("{}"),
                           whole.substr(0, whole.size() / 2)}) {
    auto reply = kube::Run(io_, webhook_.Answer({"POST", "/policies", body}));
    EXPECT_EQ(reply->status, 400);
    EXPECT_TRUE(kube::ParseJson(reply->body).has_value());
    ++requests;
  }
  EXPECT_THAT(metrics_.Render(), HasSubstr("mto_ppo_policy_wh_reviews_total{result=\"invalid\"} " +
                                           std::to_string(requests) + "\n"));
}

TEST_F(PolicyWebhookTest, EveryFlippedByteIsAnsweredAndNothingIsRefused) {
  Create("N-a [d] k:v t(k=v)");
  Start();
  std::string whole = kube::DumpJson(Pod("[a] t(not-ready~300)"));
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string body = whole;
    body[i] = static_cast<char>(body[i] ^ 0x10);
    auto reply = kube::Run(io_, webhook_.Answer({"POST", "/policies", body}));
    ASSERT_TRUE(reply->status == 200 || reply->status == 400) << i << " " << reply->body;
    EXPECT_THAT(reply->body, Not(HasSubstr("\"allowed\":false")));
  }
}

}  // namespace
}  // namespace policy
