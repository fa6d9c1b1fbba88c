// SPDX-License-Identifier: Apache-2.0
#include "inspection/cloud/aws_signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inspection {
namespace {

using ::testing::HasSubstr;

const AwsCredentials kExample{.access_key_id = "AKIDEXAMPLE",
                              .secret_access_key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
                              .session_token = ""};
constexpr char kDate[] = "20150830T123600Z";

// The cases get-vanilla and post-vanilla of Amazon's test suite for version 4.
TEST(AwsSignatureTest, SignsAsAmazonsTestSuite) {
  struct Row {
    const char* method;
    const char* signature;
  };
  for (const Row& row :
       {Row{"GET", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
        Row{"POST", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"}}) {
    kube::HttpRequest request{.method = row.method, .headers = {{"X-Amz-Date", kDate}}};
    EXPECT_EQ(AwsAuthorization(kExample, {"us-east-1", "service"}, "example.amazonaws.com", kDate,
                               request),
              "AWS4-HMAC-SHA256 "
              "Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
              "SignedHeaders=host;x-amz-date, Signature=" +
                  std::string(row.signature));
  }
}

// The case post-x-www-form-urlencoded of the suite: a request with a body.
TEST(AwsSignatureTest, SignsABodyAsAmazonsTestSuite) {
  kube::HttpRequest request{
      .method = "POST",
      .headers = {{"Content-Type", "application/x-www-form-urlencoded"}, {"X-Amz-Date", kDate}},
      .body = "Param1=value1"};
  EXPECT_EQ(
      AwsAuthorization(kExample, {"us-east-1", "service"}, "example.amazonaws.com", kDate, request),
      "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
      "SignedHeaders=content-type;host;x-amz-date, "
      "Signature=ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a");
}

// The case post-sts-header-before of the suite: the session's token is signed too.
TEST(AwsSignatureTest, SignsASessionAsAmazonsTestSuite) {
  AwsCredentials session = kExample;
  session.session_token =
      "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSP"
      "fIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT"
      "7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlz"
      "m8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==";
  kube::HttpRequest request{.method = "POST"};
  SignAwsRequest(session, {"us-east-1", "service"}, "example.amazonaws.com",
                 *kube::ParseTime("2015-08-30T12:36:00Z"), request);
  ASSERT_EQ(request.headers.size(), 3u);
  EXPECT_EQ(request.headers[2].second,
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
            "SignedHeaders=host;x-amz-date;x-amz-security-token, "
            "Signature=85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead");
}

TEST(AwsSignatureTest, TheBodyAndEveryHeaderAreSigned) {
  auto sign = [](const kube::HttpRequest& request) {
    return AwsAuthorization(kExample, {"us-east-1", "ecr"}, "h", kDate, request);
  };
  kube::HttpRequest request{.method = "POST", .headers = {{"X-Amz-Date", kDate}}, .body = "{}"};
  std::string before = sign(request);
  request.body = "{ }";
  EXPECT_NE(sign(request), before);
  request.body = "{}";
  request.headers.emplace_back("X-Amz-Target", "t");
  EXPECT_THAT(sign(request), HasSubstr("SignedHeaders=host;x-amz-date;x-amz-target,"));
}

TEST(AwsSignatureTest, ASessionsTokenIsAHeaderThatIsSigned) {
  AwsCredentials session = kExample;
  session.session_token = "session";
  kube::HttpRequest request{.method = "POST"};
  SignAwsRequest(session, {"us-east-1", "ecr"}, "h", *kube::ParseTime("2015-08-30T12:36:00Z"),
                 request);
  ASSERT_EQ(request.headers.size(), 3u);
  EXPECT_EQ(request.headers[0].second, kDate);
  EXPECT_EQ(request.headers[1].second, "session");
  EXPECT_THAT(request.headers[2].second, HasSubstr("host;x-amz-date;x-amz-security-token,"));
}

}  // namespace
}  // namespace inspection
