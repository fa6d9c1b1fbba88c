// SPDX-License-Identifier: Apache-2.0
#include "kube/admission/review.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <stdexcept>

#include "kube/admission/response.h"
#include "kube/base/async.h"
#include "kube/base/base64.h"
#include "kube/base/error.h"
#include "kube/server/http_message.h"
#include "kube/testing/run.h"
#include "kube/types/unstructured.h"

namespace kube {
namespace {

using ::testing::HasSubstr;

constexpr char kReview[] =
    R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{
  "uid":"705ab4f5","operation":"UPDATE","namespace":"web","name":"prefs","dryRun":true,"userInfo":{"username":"ann"},
  "kind":{"group":"shop.example.com","version":"v1beta1","kind":"Widget"},
  "object":{"spec":{"priority":1}},"oldObject":null}})";

TEST(ParseReviewTest, ReadsTheRequest) {
  Result<AdmissionRequest> request = ParseReview(kReview);
  ASSERT_TRUE(request) << request.error();
  EXPECT_EQ(request->uid, "705ab4f5");
  EXPECT_EQ(request->operation, "UPDATE");
  EXPECT_EQ(request->ns, "web");
  EXPECT_EQ(request->name, "prefs");
  EXPECT_EQ(request->group, "shop.example.com");
  EXPECT_EQ(request->kind, "Widget");
  EXPECT_EQ(request->user, "ann");
  EXPECT_EQ(request->user_json, R"({"username":"ann"})");
  EXPECT_TRUE(request->dry_run);
  EXPECT_EQ(request->object_json, R"({"spec":{"priority":1}})");
  EXPECT_EQ(request->old_object_json, "");
}

TEST(ParseReviewTest, ErrorsNameTheProblem) {
  struct Case {
    const char* body;
    const char* message;
  };
  std::string deep = std::string(300, '[');
  for (const Case& c :
       {Case{"", "not valid JSON"}, Case{"garbage", "not valid JSON"},
        Case{deep.c_str(), "nested deeper"}, Case{"[]", "not an AdmissionReview"},
        Case{R"({"kind":"AdmissionReview"})", "admission.k8s.io/v1"},
        Case{R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"})",
             "without a request"},
        Case{R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":7}})",
             "without a request.uid"}}) {
    Result<AdmissionRequest> request = ParseReview(c.body);
    ASSERT_TRUE(FailedWith(request, Code::kInvalid)) << c.body;
    EXPECT_THAT(request.error().message(), HasSubstr(c.message));
  }
}

TEST(WriteReviewTest, CarriesThePatch) {
  std::string patch = R"([{"op":"remove","path":"/spec"}])";
  Json review = *ParseJson(
      WriteReview("u\"1", AdmissionResponse::Patched(patch).Warn("careful").Warn("now")));
  EXPECT_EQ(StringAt(review, "kind"), "AdmissionReview");
  EXPECT_EQ(StringAt(review, "response.uid"), "u\"1");
  EXPECT_TRUE(BoolAt(review, "response.allowed"));
  EXPECT_EQ(StringAt(review, "response.patchType"), "JSONPatch");
  EXPECT_EQ(*Base64Decode(StringAt(review, "response.patch")), patch);
  EXPECT_EQ(*Find(review, "response.warnings"), MustParseJson(R"(["careful","now"])"));
}

TEST(WriteReviewTest, AllowedHasNeitherPatchNorStatus) {
  EXPECT_EQ(
      WriteReview("u", AdmissionResponse::Allowed()),
      R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"u","allowed":true}})");
}

TEST(WriteReviewTest, DeniedCarriesTheStatus) {
  Json review =
      *ParseJson(WriteReview("u", AdmissionResponse::Denied(403, "Forbidden", "not allowed\n")));
  EXPECT_FALSE(BoolAt(review, "response.allowed", true));
  EXPECT_EQ(IntAt(review, "response.status.code"), 403);
  EXPECT_EQ(StringAt(review, "response.status.reason"), "Forbidden");
  EXPECT_EQ(StringAt(review, "response.status.message"), "not allowed\n");
}

class ReviewHandlerTest : public ::testing::Test {
 protected:
  HttpReply Answer(AdmissionFunction decide, std::string body) {
    asio::io_context context(1);
    HttpHandler handler = ReviewHandler(std::move(decide));
    return *kube::Run(context, handler(HttpCall{"POST", "/", std::move(body)}));
  }
};

Async<AdmissionResponse> DenyByName(AdmissionRequest request) {
  co_return AdmissionResponse::Denied(422, "Invalid", request.name);
}
Async<AdmissionResponse> Fail(AdmissionRequest) { co_return Error::Unavailable("no API server"); }
Async<AdmissionResponse> Throw(AdmissionRequest) { throw std::runtime_error("handler bug"); }

TEST_F(ReviewHandlerTest, AnswersWithTheUidOfTheRequest) {
  HttpReply reply = Answer(DenyByName, kReview);
  EXPECT_EQ(reply.status, 200);
  Json review = *ParseJson(reply.body);
  EXPECT_EQ(StringAt(review, "response.uid"), "705ab4f5");
  EXPECT_EQ(StringAt(review, "response.status.message"), "prefs");
}

TEST_F(ReviewHandlerTest, BrokenReviewIsABadRequest) {
  HttpReply reply = Answer(DenyByName, "garbage");
  EXPECT_EQ(reply.status, 400);
  EXPECT_THAT(reply.body, HasSubstr("not valid JSON"));
}

TEST_F(ReviewHandlerTest, ErrorsAndExceptionsBecomeResponses) {
  Json failed = *ParseJson(Answer(Fail, kReview).body);
  EXPECT_EQ(IntAt(failed, "response.status.code"), 500);
  EXPECT_EQ(StringAt(failed, "response.status.message"), "Unavailable: no API server");
  Json thrown = *ParseJson(Answer(Throw, kReview).body);
  EXPECT_THAT(StringAt(thrown, "response.status.message"), HasSubstr("handler bug"));
}

}  // namespace
}  // namespace kube
