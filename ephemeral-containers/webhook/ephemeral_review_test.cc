// SPDX-License-Identifier: Apache-2.0
#include "ephemeral-containers/webhook/ephemeral_review.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ephemeral-containers/webhook/testing/reviews.h"
#include "kube/testing/heap.h"
#include "kube/testing/matchers.h"
#include "kube/types/unstructured.h"

namespace ephemeral {
namespace {

using kube::Code;
using kube::FailsWith;
using kube::Json;
using testing::ElementsAre;
using testing::IsEmpty;

class EphemeralReviewTest : public testing::Test {
 protected:
  EphemeralReview Read(const Json& review) {
    auto read = reader_.Read(kube::DumpJson(review));
    EXPECT_THAT(read, kube::IsOk());
    return read ? *read : EphemeralReview();
  }
  // "debugger x:1 Always"
  static std::vector<std::string> Added(const EphemeralReview& review) {
    std::vector<std::string> added;
    for (const kube::core::Container& container : review.added) {
      added.push_back(container.name() + " " + container.image() + " " +
                      container.image_pull_policy());
    }
    return added;
  }

  EphemeralReviewReader reader_;
};

TEST_F(EphemeralReviewTest, ReadsWhatIsNew) {
  Json json = ReviewOf(
      {EphemeralContainer("debugger", "x:1", "Always"), EphemeralContainer("second", "y:1")},
      {EphemeralContainer("old", "z:1")});
  json["request"]["object"]["spec"]["imagePullSecrets"] = {{{"name", "a"}}, {{"name", "b"}}};
  EphemeralReview review = Read(json);
  EXPECT_EQ(review.uid, kReviewUid);
  EXPECT_EQ(review.ns, "shop");
  EXPECT_EQ(review.pod, "web");
  EXPECT_EQ(review.node, "worker-3");
  EXPECT_THAT(Added(review), ElementsAre("debugger x:1 Always", "second y:1 IfNotPresent"));
  EXPECT_THAT(review.pull_secrets, ElementsAre("a", "b"));
  EXPECT_EQ(review.left_out, 0u);
}

TEST_F(EphemeralReviewTest, WhatIsOnlyOnNodesIsNotRead) {
  EXPECT_THAT(Added(Read(ReviewOf({EphemeralContainer("debugger", "x:1", "Never")}))), IsEmpty());
}

TEST_F(EphemeralReviewTest, OtherRequestsAddNothing) {
  const Json review = ReviewOf({EphemeralContainer("debugger", "x:1")});
  ASSERT_EQ(Added(Read(review)).size(), 1u);
  for (auto [field, value] :
       {std::pair("/request/subResource", Json("")),
        std::pair("/request/operation", Json("CREATE")),
        std::pair("/request/resource/resource", Json("jobs")),
        std::pair("/request/resource/group", Json("apps")),
        std::pair("/request/object", Json(nullptr)), std::pair("/request/object/spec", Json("x")),
        std::pair("/request/object/spec/ephemeralContainers", Json("x"))}) {
    Json other = review;
    other[Json::json_pointer(field)] = value;
    EXPECT_THAT(Added(Read(other)), IsEmpty()) << field;
  }
}

// They get into the paths of calls.
TEST_F(EphemeralReviewTest, NamesThatAreNoneAreNotUsed) {
  Json json = ReviewOf({EphemeralContainer("debugger", "x:1")}, {}, "../nodes/a?b", "a/b");
  json["request"]["object"]["spec"]["imagePullSecrets"] = {{{"name", "../../secrets"}}, "x", 1};
  EphemeralReview review = Read(json);
  EXPECT_EQ(review.node, "");
  EXPECT_EQ(review.ns, "");
  EXPECT_THAT(review.pull_secrets, IsEmpty());
}

TEST_F(EphemeralReviewTest, AtMostSomeContainersAreRead) {
  std::vector<Json> many;
  for (size_t i = 0; i < kMaxContainers + 3; ++i)
    many.push_back(EphemeralContainer("c" + std::to_string(i), "x:1"));
  EphemeralReview review = Read(ReviewOf(many));
  EXPECT_EQ(review.added.size(), kMaxContainers);
  EXPECT_EQ(review.left_out, 3u);
}

TEST_F(EphemeralReviewTest, LongNamesAreLeftOut) {
  EphemeralReview review =
      Read(ReviewOf({EphemeralContainer("fits", std::string(kMaxImageName, 'x')),
                     EphemeralContainer("long", std::string(kMaxImageName + 1, 'x')),
                     EphemeralContainer(std::string(1000, 'n'), "x:1")}));
  EXPECT_EQ(review.added.size(), 1u);
  EXPECT_EQ(review.left_out, 2u);
}

TEST_F(EphemeralReviewTest, AtMostSomePullSecretsAreRead) {
  Json json = ReviewOf({EphemeralContainer("debugger", "x:1")});
  for (int i = 0; i < 100; ++i) {
    json["request"]["object"]["spec"]["imagePullSecrets"].push_back(
        {{"name", "s" + std::to_string(i)}});
  }
  EXPECT_EQ(Read(json).pull_secrets.size(), 32u);
}

// The answer repeats it.
TEST_F(EphemeralReviewTest, ALongUidIsInvalid) {
  Json review = ReviewOf({});
  review["request"]["uid"] = std::string(kMaxUid, 'u');
  EXPECT_EQ(Read(review).uid.size(), kMaxUid);
  review["request"]["uid"] = std::string(kMaxUid + 1, 'u');
  EXPECT_THAT(reader_.Read(kube::DumpJson(review)), FailsWith(Code::kInvalid));
}

// The next one may come after days.
TEST_F(EphemeralReviewTest, TheMemoryOfALargeReviewIsFreed) {
  if (!kube::kHeapIsMeasured) GTEST_SKIP() << "a sanitizer has a heap of its own";
  Json review = ReviewOf({});
  review["request"]["object"]["metadata"]["annotations"] = {{"a", std::string(3 << 20, 'x')}};
  const std::string large = kube::DumpJson(review);
  const std::string invalid = large.substr(0, large.size() - 1);
  const size_t before = kube::HeapInUse();
  EXPECT_THAT(reader_.Read(large), kube::IsOk());
  EXPECT_LT(kube::HeapInUse(), before + (1 << 20));
  EXPECT_THAT(reader_.Read(invalid), FailsWith(Code::kInvalid));
  EXPECT_LT(kube::HeapInUse(), before + (1 << 20));
}

TEST_F(EphemeralReviewTest, WhatIsNoReviewIsInvalid) {
  EXPECT_THAT(reader_.Read("{"), FailsWith(Code::kInvalid));
  EXPECT_THAT(reader_.Read("[]"), FailsWith(Code::kInvalid));
  EXPECT_THAT(reader_.Read(std::string(1000, '[')), FailsWith(Code::kInvalid));
  Json review = ReviewOf({});
  review["request"]["uid"] = "";
  EXPECT_THAT(reader_.Read(kube::DumpJson(review)), FailsWith(Code::kInvalid));
  review = ReviewOf({});
  review["apiVersion"] = "admission.k8s.io/v1beta1";
  EXPECT_THAT(reader_.Read(kube::DumpJson(review)), FailsWith(Code::kInvalid));
}

}  // namespace
}  // namespace ephemeral
