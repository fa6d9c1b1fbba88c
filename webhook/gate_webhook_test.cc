// SPDX-License-Identifier: Apache-2.0
#include "webhook/gate_webhook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "api/names.h"
#include "kube/base/base64.h"
#include "kube/base/clock.h"
#include "kube/metrics/metrics.h"
#include "kube/server/http_message.h"
#include "kube/testing/heap.h"
#include "kube/types/unstructured.h"
#include "placement/gate.h"
#include "placement/placed_at_creation.h"
#include "placement/release.h"
#include "webhook/golden.h"

namespace webhook {
namespace {

using kube::Json;
using ::testing::HasSubstr;

constexpr char kOperatorNamespace[] = "openshift-multiarch-tuning-operator";

kube::HttpCall Call(std::string path, std::string body) {
  return {"POST", std::move(path), std::move(body)};
}

class GateWebhookTest : public ::testing::Test {
 protected:
  kube::HttpReply AnswerForCluster(std::string body) {
    return cluster_.Answer(Call("/add-pod-scheduling-gate", std::move(body)));
  }
  std::string PlainPod() {
    return ReadTestFile(std::filesystem::path(kTestdata) / "cluster_plain_pod_is_gated.input.json");
  }

  kube::Metrics metrics_;
  GateWebhook cluster_{{"", kOperatorNamespace}, metrics_, kube::RealClock()};
  kube::Metrics shard_metrics_;
  GateWebhook shard_{{"web", kOperatorNamespace}, shard_metrics_, kube::RealClock()};
};

// The next one may come after days.
TEST_F(GateWebhookTest, TheMemoryOfALargeReviewIsFreed) {
  if (!kube::kHeapIsMeasured) GTEST_SKIP() << "a sanitizer has a heap of its own";
  Json review = *kube::ParseJson(PlainPod());
  review["request"]["object"]["metadata"]["annotations"]["a"] = std::string(2 << 20, 'x');
  const std::string large = kube::DumpJson(review);
  const size_t before = kube::HeapInUse();
  EXPECT_EQ(AnswerForCluster(large).status, 200);
  EXPECT_LT(kube::HeapInUse(), before + (1 << 20));
  EXPECT_EQ(AnswerForCluster(large.substr(0, large.size() - 1)).status, 400);
  EXPECT_LT(kube::HeapInUse(), before + (1 << 20));
}

// The golden pairs.
class GoldenTest : public GateWebhookTest, public ::testing::WithParamInterface<std::string> {};

TEST_P(GoldenTest, PatchIsAsWritten) {
  std::filesystem::path folder(kTestdata);
  std::string input = ReadTestFile(folder / (GetParam() + ".input.json"));
  kube::Result<Json> expected =
      kube::ParseJson(ReadTestFile(folder / (GetParam() + ".output.json")));
  ASSERT_TRUE(expected) << "no good " << GetParam() << ".output.json";

  // The prefix of the name selects the webhook.
  bool local = GetParam().starts_with("local_");
  bool preferences = GetParam().starts_with("cluster_with_preferences_");
  std::string path = local         ? "/local/prefs"
                     : preferences ? "/add-pod-scheduling-gate/with-preferences"
                                   : "/add-pod-scheduling-gate";
  kube::HttpReply reply = (local ? shard_ : cluster_).Answer(Call(path, input));
  ASSERT_EQ(reply.status, 200) << reply.body;
  Json review = *kube::ParseJson(reply.body);
  EXPECT_TRUE(kube::BoolAt(review, "response.allowed")) << "a pod is never refused";
  EXPECT_EQ(kube::StringAt(review, "response.uid"), "705ab4f5-6393-11e8-b7cc-42010a800002");

  std::string text = kube::StringAt(review, "response.patch");
  Json patch = text.empty() ? Json::array() : *kube::ParseJson(*kube::Base64Decode(text));
  EXPECT_EQ(patch, expected->at("patch"));
  const Json* warnings = kube::Find(review, "response.warnings");
  EXPECT_EQ(warnings == nullptr ? Json::array() : *warnings,
            expected->value("warnings", Json::array()));
  // Throws if an operation does not fit the object.
  EXPECT_NO_THROW((void)kube::ParseJson(input)->at("request").at("object").patch(patch));
}

std::vector<std::string> GoldenNames() {
  std::vector<std::string> names;
  for (auto& file : std::filesystem::directory_iterator(kTestdata)) {
    std::string name = file.path().filename();
    if (name.ends_with(".input.json")) names.push_back(name.substr(0, name.find('.')));
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Testdata, GoldenTest, ::testing::ValuesIn(GoldenNames()),
                         [](const auto& info) { return info.param; });

TEST_F(GateWebhookTest, ApplyingThePatchTwiceIsApplyingItOnce) {
  Json review = *kube::ParseJson(PlainPod());
  Json& object = review["request"]["object"];
  for (int i = 0; i < 2; ++i) {
    kube::HttpReply reply = AnswerForCluster(kube::DumpJson(review));
    std::string patch =
        *kube::Base64Decode(kube::StringAt(*kube::ParseJson(reply.body), "response.patch"));
    EXPECT_EQ(patch.empty(), i == 1);
    if (!patch.empty()) object = object.patch(*kube::ParseJson(patch));
  }
  EXPECT_EQ(object["spec"]["schedulingGates"].size(), 1u);
}

TEST_F(GateWebhookTest, EachConfigAddsItsNameOnce) {
  Json review = *kube::ParseJson(PlainPod());
  Json& object = review["request"]["object"];
  for (const char* path : {"/local/a", "/local/b", "/local/a"}) {
    kube::HttpReply reply = shard_.Answer(Call(path, kube::DumpJson(review)));
    std::string patch =
        *kube::Base64Decode(kube::StringAt(*kube::ParseJson(reply.body), "response.patch"));
    if (!patch.empty()) object = object.patch(*kube::ParseJson(patch));
  }
  EXPECT_EQ(object["spec"]["schedulingGates"],
            kube::MustParseJson(R"([{"name":"multiarch.openshift.io/local-scheduling-gate"}])"));
  EXPECT_EQ(object["metadata"]["annotations"]["multiarch.openshift.io/local-configs"], "a,b");
}

TEST_F(GateWebhookTest, EachRuleAddsItsConfigAndItsNameOnce) {
  Json review = *kube::ParseJson(PlainPod());
  Json& object = review["request"]["object"];
  for (const char* path : {"/local/a", "/local/a/large", "/local/b/large", "/local/a/large"}) {
    kube::HttpReply reply = shard_.Answer(Call(path, kube::DumpJson(review)));
    ASSERT_EQ(reply.status, 200) << path;
    std::string patch =
        *kube::Base64Decode(kube::StringAt(*kube::ParseJson(reply.body), "response.patch"));
    if (!patch.empty()) object = object.patch(*kube::ParseJson(patch));
  }
  EXPECT_EQ(object["spec"]["schedulingGates"].size(), 1u);
  EXPECT_EQ(object["metadata"]["annotations"]["multiarch.openshift.io/local-configs"],
            "a,a/large,b/large");
}

// The API server would refuse the pod: the list and other annotations are at most 256 KiB.
TEST_F(GateWebhookTest, ALongListIsNotAppendedTo) {
  Json review = *kube::ParseJson(PlainPod());
  Json& object = review["request"]["object"];
  object["spec"]["schedulingGates"] = {{{"name", "multiarch.openshift.io/local-scheduling-gate"}}};
  Json& list = object["metadata"]["annotations"]["multiarch.openshift.io/local-configs"];
  for (size_t size : {64 * 1024 - 8, 64 * 1024 - 7}) {
    list = std::string(size, 'x');
    kube::HttpReply reply = shard_.Answer(Call("/local/a/large", kube::DumpJson(review)));
    std::string patch =
        *kube::Base64Decode(kube::StringAt(*kube::ParseJson(reply.body), "response.patch"));
    EXPECT_EQ(patch.find("local-configs") != std::string::npos, size == 64 * 1024 - 8);
    EXPECT_NE(patch.find("gated"), std::string::npos);
  }
}

TEST_F(GateWebhookTest, BrokenReviewsAreBadRequests) {
  std::string deep(100'000, '[');
  std::string whole = PlainPod();
  struct Case {
    std::string body;
    const char* message;
  };
  for (const Case& c :
       {Case{"", "not valid JSON"}, Case{"\xFF\xFE", "not valid JSON"},
        Case{deep, "not valid JSON"}, Case{whole.substr(0, whole.size() / 2), "not valid JSON"},
        Case{whole + "{}", "not valid JSON"}, Case{"null", "not an AdmissionReview"},
        Case{R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1"})",
             "of admission.k8s.io/v1"},
        Case{R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":[]})",
             "without a request"},
        Case{R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{}})",
             "request.uid"}}) {
    kube::HttpReply reply = AnswerForCluster(c.body);
    EXPECT_EQ(reply.status, 400) << c.body.substr(0, 80);
    EXPECT_THAT(reply.body, HasSubstr(c.message));
    EXPECT_TRUE(kube::ParseJson(reply.body).has_value());
  }
}

TEST_F(GateWebhookTest, EveryPrefixOfAReviewIsAnswered) {
  std::string whole = PlainPod();
  for (size_t size = 0; size < whole.size() - 2; ++size)
    EXPECT_EQ(AnswerForCluster(whole.substr(0, size)).status, 400) << size;
}

TEST_F(GateWebhookTest, EveryFlippedByteIsAnswered) {
  std::string whole = PlainPod();
  for (size_t i = 0; i < whole.size(); ++i) {
    for (char flip : {'\x01', '\x20', '\x80'}) {
      std::string broken = whole;
      broken[i] = static_cast<char>(broken[i] ^ flip);
      kube::HttpReply reply = AnswerForCluster(broken);
      EXPECT_TRUE(reply.status == 200 || reply.status == 400) << reply.status;
      EXPECT_TRUE(kube::ParseJson(reply.body).has_value()) << reply.body;
    }
  }
}

TEST_F(GateWebhookTest, PathMustNameAConfig) {
  for (const char* path : {"/local/", "/local/a/", "/local//b", "/local/a/b/c", "/local/a/b.c",
                           "/local/a/B", "/local/a,b", "/local/A", "/local/%61", "/x"}) {
    EXPECT_EQ(shard_.Answer(Call(path, PlainPod())).status, 404) << path;
  }
  EXPECT_EQ(shard_.Answer(Call("/local/" + std::string(254, 'a'), PlainPod())).status, 404);
}

TEST_F(GateWebhookTest, LargePodLeavesNothingBehindButItsAnswer) {
  Json review = *kube::ParseJson(PlainPod());
  review["request"]["object"]["metadata"]["annotations"]["blob"] = std::string(2'000'000, 'x');
  EXPECT_EQ(AnswerForCluster(kube::DumpJson(review)).status, 200);
  EXPECT_EQ(AnswerForCluster(PlainPod()).status, 200);
}

// Places pods while it is `able`, on `architectures`.
struct FakePlacer final : PodPlacer {
  bool Place(kube::core::Pod& pod) override {
    ns = pod.metadata().namespace_();
    placement::ClusterDecision decision{.platforms = placement::CommonPlatforms(architectures)};
    if (!able) return false;
    return placement::HasGate(pod, api::kLocalGate)
               ? placement::PlaceBehindLocalGate(pod, decision)
               : placement::PlaceAtCreation(pod, std::move(decision));
  }

  bool able = true;
  placement::ArchitectureSet architectures{"amd64", "arm64"};
  std::string ns;  // of the last pod
};

class PlacingTest : public GateWebhookTest {
 protected:
  // What the API server makes of the pod and the answer.
  Json Admitted(const Json& review, std::string path = "/place-pod") {
    kube::HttpReply reply = webhook_.Answer(Call(std::move(path), kube::DumpJson(review)));
    EXPECT_EQ(reply.status, 200) << reply.body;
    std::string patch =
        *kube::Base64Decode(kube::StringAt(*kube::ParseJson(reply.body), "response.patch"));
    Json admitted = review;
    Json& object = admitted["request"]["object"];
    if (!patch.empty()) object = object.patch(*kube::ParseJson(patch));
    return admitted;
  }
  static const Json& PodOf(const Json& review) { return review["request"]["object"]; }
  static bool Gated(const Json& review) {
    return PodOf(review)["spec"].value("schedulingGates", Json::array()).size() == 1;
  }
  // Of the operator, without the prefix; "" if absent.
  static std::string Label(const Json& review, const std::string& name) {
    return PodOf(review)["metadata"]["labels"].value("multiarch.openshift.io/" + name, "");
  }
  // By the last expression, which narrows those before.
  static Json RequiredBy(const Json& review) {
    return PodOf(review)["spec"]["affinity"]["nodeAffinity"]
                        ["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"][0]
                        ["matchExpressions"]
                            .back()["values"];
  }

  Json plain_ = *kube::ParseJson(PlainPod());
  FakePlacer placer_;
  kube::Metrics placing_metrics_;
  GateWebhook webhook_{{"", kOperatorNamespace, &placer_}, placing_metrics_, kube::RealClock()};
};

TEST_F(PlacingTest, APlacedPodHasItsRequirementAndNoGate) {
  for (const char* path : {"/place-pod", "/place-pod/with-preferences"}) {
    Json placed = Admitted(plain_, path);
    EXPECT_FALSE(Gated(placed));
    EXPECT_EQ(RequiredBy(placed), Json::array({"amd64", "arm64"}));
    EXPECT_EQ(Label(placed, "scheduling-gate"), "not-set");
    EXPECT_EQ(Label(placed, "node-affinity"), "set");
    EXPECT_EQ(placer_.ns, plain_["request"]["namespace"]);
  }
  EXPECT_THAT(placing_metrics_.Render(), HasSubstr("mto_ppo_wh_pods_placed_total 2\n"));
  EXPECT_THAT(placing_metrics_.Render(), HasSubstr("mto_ppo_wh_pods_gated_total 0\n"));
}

TEST_F(PlacingTest, OtherPodsAreGated) {
  EXPECT_TRUE(Gated(Admitted(plain_, "/add-pod-scheduling-gate")));
  EXPECT_TRUE(Gated(Admitted(plain_, "/add-pod-scheduling-gate/with-preferences")));
  Json large = plain_;
  large["request"]["object"]["metadata"]["annotations"]["a"] = std::string(256 << 10, 'x');
  EXPECT_TRUE(Gated(Admitted(large)));
  for (int terms : {64, 65}) {
    Json many = plain_;
    Json term = {{"matchExpressions", {{{"key", "zone"}, {"operator", "Exists"}}}}};
    many["request"]["object"]["spec"]["affinity"]["nodeAffinity"]
        ["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] =
            Json(static_cast<size_t>(terms), term);
    EXPECT_EQ(Gated(Admitted(many)), terms > 64);
  }
  placer_.able = false;
  EXPECT_EQ(Admitted(plain_), Admitted(plain_, "/add-pod-scheduling-gate"));
}

TEST_F(PlacingTest, APodThatIsNeverGatedIsNotPlaced) {
  Json bound = plain_;
  bound["request"]["object"]["spec"]["nodeName"] = "n";
  bound["request"]["object"]["metadata"]["labels"]["multiarch.openshift.io/placed-at-creation"] =
      "";
  Json admitted = Admitted(bound);
  EXPECT_EQ(PodOf(admitted)["spec"], PodOf(bound)["spec"]);
  EXPECT_EQ(placer_.ns, "");
}

TEST_F(PlacingTest, APodWithTheLocalGateLosesTheClusterGate) {
  constexpr char kPath[] = "/place-pod/behind-local-gate";
  const Json gated = Admitted(plain_, kPath);
  EXPECT_EQ(gated, Admitted(plain_, "/add-pod-scheduling-gate/with-preferences"));
  EXPECT_EQ(Admitted(gated, kPath), gated) << "another webhook has changed the pod";

  // As the shard's webhook does.
  Json both = gated;
  Json& pod = both["request"]["object"];
  pod["spec"]["schedulingGates"].push_back({{"name", api::kLocalGate}});
  pod["metadata"]["labels"][std::string(api::kLocalGateLabel)] = "gated";
  const Json placed = Admitted(both, kPath);
  EXPECT_EQ(PodOf(placed)["spec"]["schedulingGates"], Json::array({{{"name", api::kLocalGate}}}));
  EXPECT_EQ(RequiredBy(placed), Json::array({"amd64", "arm64"}));
  EXPECT_EQ(Label(placed, "local-scheduling-gate"), "gated");
  EXPECT_EQ(Label(placed, "scheduling-gate"), "not-set");

  placer_.able = false;
  EXPECT_EQ(Admitted(both, kPath), both);
}

TEST_F(PlacingTest, AnotherWebhookMayChangeTheImagesOfAPlacedPod) {
  const Json placed = Admitted(plain_);
  placer_.architectures = {"arm64", "s390x"};
  Json again = Admitted(placed);
  EXPECT_FALSE(Gated(again));
  EXPECT_EQ(RequiredBy(again), Json::array({"arm64"}));
  EXPECT_EQ(Admitted(again), again);

  // Or to one that is not known. What the pod requires is narrowed behind the gate.
  placer_.able = false;
  again = Admitted(placed);
  EXPECT_TRUE(Gated(again));
  EXPECT_EQ(RequiredBy(again), Json::array({"amd64", "arm64"}));
  EXPECT_EQ(Label(again, "scheduling-gate"), "gated");
  EXPECT_EQ(Label(again, "node-affinity"), "set");
  EXPECT_FALSE(
      PodOf(again)["metadata"]["labels"].contains("multiarch.openshift.io/placed-at-creation"));
}

TEST_F(GateWebhookTest, WithoutAPlacerAllPodsAreGated) {
  kube::HttpReply placing = cluster_.Answer(Call("/place-pod", PlainPod()));
  EXPECT_EQ(placing.body, AnswerForCluster(PlainPod()).body);
}

TEST_F(GateWebhookTest, CountsPodsFromZero) {
  EXPECT_THAT(metrics_.Render(), HasSubstr("mto_ppo_wh_pods_processed_total 0\n"));
  EXPECT_THAT(metrics_.Render(), HasSubstr("mto_ppo_wh_pods_gated_total 0\n"));
  AnswerForCluster(PlainPod());
  AnswerForCluster(
      ReadTestFile(std::filesystem::path(kTestdata) / "cluster_daemonset_is_ignored.input.json"));
  AnswerForCluster(ReadTestFile(std::filesystem::path(kTestdata) /
                                "cluster_update_is_admitted_unchanged.input.json"));
  std::string text = metrics_.Render();
  EXPECT_THAT(text, HasSubstr("mto_ppo_wh_pods_processed_total 2\n"));
  EXPECT_THAT(text, HasSubstr("mto_ppo_wh_pods_gated_total 1\n"));
  EXPECT_THAT(text, HasSubstr("mto_ppo_wh_response_time_seconds_count 3\n"));
}

}  // namespace
}  // namespace webhook
