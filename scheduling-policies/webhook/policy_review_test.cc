// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/webhook/policy_review.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/testing/heap.h"
#include "kube/testing/matchers.h"
#include "scheduling-policies/merge.h"
#include "scheduling-policies/webhook/testing/reviews.h"

namespace policy {
namespace {

using kube::Code;
using kube::FailsWith;
using kube::Json;

TEST(PolicyReviewTest, ReadsTheRequest) {
  PolicyReviewReader reader;
  Json json = ReviewOf("apps/deployments", "UPDATE", Workload("[a] k:v"));
  json["request"]["subResource"] = "scale";
  auto review = reader.Read(kube::DumpJson(json));
  ASSERT_THAT(review, kube::IsOk());
  EXPECT_EQ(review->uid, kReviewUid);
  EXPECT_EQ(review->group, "apps");
  EXPECT_EQ(review->resource, "deployments");
  EXPECT_EQ(review->operation, "UPDATE");
  EXPECT_EQ(review->subresource, "scale");
  EXPECT_EQ(review->ns, "shop");
  EXPECT_EQ(review->name, "web");
  EXPECT_TRUE(review->old_object.is_null()) << "nobody needs it";
}

// The next one may come after days.
TEST(PolicyReviewTest, TheMemoryOfALargeReviewIsFreed) {
  if (!kube::kHeapIsMeasured) GTEST_SKIP() << "a sanitizer has a heap of its own";
  Json json = ReviewOf("pods", "CREATE", ObjectOf("pods", "-"));
  json["request"]["object"]["spec"]["containers"] = std::string(2 << 20, 'x');
  const std::string large = kube::DumpJson(json);
  PolicyReviewReader reader;
  const size_t before = kube::HeapInUse();
  EXPECT_THAT(reader.ReadHeader(large), kube::IsOk());
  EXPECT_LT(kube::HeapInUse(), before + (1 << 20));
  EXPECT_THAT(reader.Read(large), kube::IsOk());
  EXPECT_LT(kube::HeapInUse(), before + (1 << 20));
}

// The reduced object gives the same target, labels and patch.
TEST(PolicyReviewTest, KeepsAllThatDecides) {
  SchedulingPolicy policy =
      PolicyOf("N-a [d][e] P9[a] T(all) A5 t(k=v) t(not-ready~60) k:v node=n");
  std::vector<const SchedulingPolicy*> policies = {&policy};
  for (const char* resource : {"pods", "apps/deployments", "batch/cronjobs"}) {
    for (const char* words : {"-", "[a,b][c] P1[q] T5 t(not-ready~300) k:w", "node=m", "gate",
                              "sched=default-scheduler [z:1|2] A(1|2) t(k=v)"}) {
      Json object = ObjectOf(resource, words);
      object["metadata"]["annotations"] = {{"kubernetes.io/config.source", "api"}};
      object["metadata"]["managedFields"] = Json::array({{{"manager", "kubectl"}}});
      object["status"] = {{"phase", "Pending"}};
      PolicyReviewReader reader;
      auto review = reader.Read(kube::DumpJson(ReviewOf(resource, "CREATE", object)));
      ASSERT_THAT(review, kube::IsOk());
      EXPECT_FALSE(kube::DumpJson(review->object).find("containers") != std::string::npos);

      Request request = review->ToRequest();
      Target reduced = FindTarget(request, {}, {});
      request.object = &object;
      Target whole = FindTarget(request, {}, {});
      ASSERT_TRUE(reduced) << reduced.left_unchanged;
      auto patch = Merge(*reduced.spec, reduced.SpecPointer(), policies);
      auto expected = Merge(*whole.spec, whole.SpecPointer(), policies);
      ASSERT_THAT(patch, kube::IsOk());
      EXPECT_EQ(patch->patch, expected->patch) << resource << " " << words;
      EXPECT_EQ(patch->warnings, expected->warnings);
      EXPECT_EQ(PodLabels(review->object, reduced).size(), PodLabels(object, whole).size());
    }
  }
}

TEST(PolicyReviewTest, KeepsWhyAnObjectIsLeftUnchanged) {
  const std::pair<const char*, const char*> rows[] = {
      {"ann", R"({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})"},
      {"system:node:n1", R"({"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}})"},
      {"system:kube-controller-manager", R"({"metadata": {"ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "controller": true}]}})"},
      {"ann", R"({"spec": null})"},
      {"ann", R"({"spec": []})"}};
  for (const auto& [user, patch] : rows) {
    Json object = ObjectOf("pods", "-");
    object.merge_patch(kube::MustParseJson(patch));
    Json json = ReviewOf("pods", "CREATE", object);
    json["request"]["userInfo"]["username"] = user;
    PolicyReviewReader reader;
    auto review = reader.Read(kube::DumpJson(json));
    ASSERT_THAT(review, kube::IsOk());
    Request request = review->ToRequest();
    Target reduced = FindTarget(request, {}, {});
    request.object = &object;
    EXPECT_EQ(reduced.left_unchanged, FindTarget(request, {}, {}).left_unchanged) << patch;
    EXPECT_FALSE(reduced) << patch;
  }
}

TEST(PolicyReviewTest, WholeTemplatesOfAnUpdate) {
  Json before = Workload("k:v");
  Json after = before;
  after["spec"]["template"]["spec"]["containers"][0]["image"] = "new";
  for (bool changed : {false, true}) {
    Json json = ReviewOf("apps/deployments", "UPDATE", changed ? after : before);
    json["request"]["oldObject"] = before;
    PolicyReviewReader reader(/*whole_templates=*/true);
    auto review = reader.Read(kube::DumpJson(json));
    ASSERT_THAT(review, kube::IsOk());
    Target target = FindTarget(review->ToRequest(), {}, {.only_changed_templates = true});
    EXPECT_EQ(static_cast<bool>(target), changed) << target.left_unchanged;
  }
}

TEST(PolicyReviewTest, NumbersKeepTheirType) {
  Json pod = ObjectOf("pods", "t(k~30)");
  pod["spec"]["tolerations"][0]["tolerationSeconds"] = 9007199254740993;  // no double
  PolicyReviewReader reader;
  auto review = reader.Read(kube::DumpJson(ReviewOf("pods", "CREATE", pod)));
  ASSERT_THAT(review, kube::IsOk());
  EXPECT_EQ(review->object["spec"]["tolerations"], pod["spec"]["tolerations"]);
}

TEST(PolicyReviewTest, RefusesWhatIsNoReview) {
  PolicyReviewReader reader;
  std::string whole = kube::DumpJson(ReviewOf("pods", "CREATE", ObjectOf("pods", "[a] T")));
  for (std::string body :
       {std::string(), std::string("\xFF\xFE"), std::string(1'000'000, '['), whole + "{}",
        std::string("null"), std::string("[]"), std::string("7"),
        std::string(R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1"})"),
        std::string(
            R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":[]})"),
        std::string(
            R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{}})")}) {
    EXPECT_THAT(reader.Read(body), FailsWith(Code::kInvalid)) << body.substr(0, 80);
  }
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_THAT(reader.Read(whole.substr(0, size)), FailsWith(Code::kInvalid)) << size;
  EXPECT_THAT(reader.Read(whole), kube::IsOk());
}

TEST(PolicyReviewTest, RefusesDeepNesting) {
  PolicyReviewReader reader;
  for (size_t size : {1'000u, 100'000u, 1'000'000u}) {
    Json json = ReviewOf("pods", "CREATE", ObjectOf("pods", "-"));
    json["request"]["object"]["spec"]["affinity"] = "HERE";
    std::string body = kube::DumpJson(json);
    std::string deep = std::string(size, '[') + std::string(size, ']');
    body.replace(body.find("\"HERE\""), 6, deep);
    EXPECT_THAT(reader.Read(body), FailsWith(Code::kInvalid)) << size;
  }
}

}  // namespace
}  // namespace policy
