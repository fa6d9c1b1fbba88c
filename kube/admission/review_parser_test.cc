// SPDX-License-Identifier: Apache-2.0
#include "kube/admission/review_parser.h"

#include <gtest/gtest.h>

#include <string>

#include "kube/testing/heap.h"
#include "kube/testing/matchers.h"

namespace kube {
namespace {

std::string ReviewWith(const std::string& object) {
  return R"({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",)"
         R"( "request": {"uid": "u", "object": )" +
         object + "}}";
}

TEST(ReviewParserTest, FindsTheRequest) {
  ReviewParser parser;
  auto request = parser.Parse(ReviewWith("7"));
  ASSERT_THAT(request, IsOk());
  int64_t object = 0;
  EXPECT_EQ((*request)["object"].get(object), simdjson::SUCCESS);
  EXPECT_EQ(object, 7);
}

TEST(ReviewParserTest, WhatIsNoReviewIsInvalid) {
  ReviewParser parser;
  const std::string deep(ReviewParser::kMaxDepth, '[');
  for (const std::string& body :
       {std::string(), std::string("{"), std::string("null"),
        std::string(R"({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"})"),
        std::string(R"({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",)"
                    R"( "request": {"uid": ""}})"),
        ReviewWith(deep + std::string(deep.size(), ']'))})
    EXPECT_THAT(parser.Parse(body), FailsWith(Code::kInvalid)) << body;
}

// A usual one costs no allocation of the parser's memory, and a large one leaves none.
TEST(ReviewParserTest, TheMemoryOfALargeReviewIsFreed) {
  if (!kHeapIsMeasured) GTEST_SKIP() << "a sanitizer has a heap of its own";
  const std::string small = ReviewWith("\"" + std::string(1000, 'x') + "\"");
  const std::string large = ReviewWith("\"" + std::string(3 << 20, 'x') + "\"");
  ReviewParser parser;
  ASSERT_THAT(parser.Parse(small), IsOk());
  parser.Shrink();
  const size_t kept = HeapInUse();
  ASSERT_THAT(parser.Parse(small), IsOk());
  EXPECT_EQ(HeapInUse(), kept);
  ASSERT_THAT(parser.Parse(large), IsOk());
  EXPECT_GT(HeapInUse(), kept + large.size());
  parser.Shrink();
  EXPECT_LE(HeapInUse(), kept);
}

}  // namespace
}  // namespace kube
