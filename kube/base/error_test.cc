// SPDX-License-Identifier: Apache-2.0
#include "kube/base/error.h"

#include <gtest/gtest.h>

#include "kube/testing/matchers.h"

namespace kube {
namespace {

TEST(ErrorTest, MapsHttpStatusToCodes) {
  constexpr struct {
    int status;
    const char* reason;
    Code code;
  } kRows[] = {
      {400, "BadRequest", Code::kInvalid},
      {401, "Unauthorized", Code::kUnauthenticated},
      {403, "Forbidden", Code::kPermissionDenied},
      {404, "NotFound", Code::kNotFound},
      {408, "", Code::kUnavailable},
      {405, "MethodNotAllowed", Code::kInvalid},
      {409, "AlreadyExists", Code::kAlreadyExists},
      {409, "Conflict", Code::kConflict},
      {409, "", Code::kConflict},
      {410, "Expired", Code::kExpired},
      {413, "RequestEntityTooLarge", Code::kInvalid},
      {415, "UnsupportedMediaType", Code::kInvalid},
      {422, "Invalid", Code::kInvalid},
      {429, "TooManyRequests", Code::kThrottled},
      {500, "InternalError", Code::kUnavailable},
      {503, "ServiceUnavailable", Code::kUnavailable},
      {504, "Timeout", Code::kUnavailable},
      {302, "", Code::kInternal},
  };
  for (const auto& row : kRows) {
    Error error = Error::FromHttpStatus(row.status, row.reason, "why");
    EXPECT_EQ(error.code(), row.code) << row.status << " " << row.reason;
    EXPECT_EQ(error.reason(), row.reason);
    EXPECT_EQ(error.message(), "why");
  }
}

TEST(ErrorTest, PrefixKeepsAllElse) {
  Error error = Error::FromHttpStatus(429, "TooManyRequests", "slow down")
                    .WithRetryAfter(std::chrono::seconds(7))
                    .AsTerminal()
                    .Prefix("patch pod ns/web");
  EXPECT_EQ(error.ToString(), "Throttled: patch pod ns/web: slow down");
  EXPECT_EQ(error.reason(), "TooManyRequests");
  EXPECT_EQ(error.retry_after(), std::chrono::seconds(7));
  EXPECT_TRUE(error.terminal());
  EXPECT_FALSE(Error::NotFound("x").terminal());
}

TEST(ErrorTest, CausesSurviveOtherChanges) {
  Error plain = Error::FromHttpStatus(403, "Forbidden", "no");
  EXPECT_TRUE(plain.causes().empty());
  EXPECT_FALSE(plain.HasCause("NamespaceTerminating"));
  Error error =
      plain.WithCauses({{"NamespaceTerminating", "namespace shop is being terminated", "ns"}})
          .WithRetryAfter(std::chrono::seconds(1))
          .Prefix("apply role");
  ASSERT_EQ(error.causes().size(), 1u);
  EXPECT_EQ(error.causes()[0].message, "namespace shop is being terminated");
  EXPECT_EQ(error.causes()[0].field, "ns");
  EXPECT_TRUE(error.HasCause("NamespaceTerminating"));
  EXPECT_FALSE(error.HasCause("Namespace"));
  EXPECT_TRUE(error.WithCauses({}).causes().empty());
}

TEST(ErrorTest, CausesAreBoundedInNumberAndBytes) {
  std::string text(Error::kMaxCauseBytes + 1, 'x');
  std::vector<Cause> causes(Error::kMaxCauses + 1, Cause{text, text, text});
  Error error = Error::Invalid("no").WithCauses(std::move(causes));
  ASSERT_EQ(error.causes().size(), Error::kMaxCauses);
  for (const Cause& cause : error.causes()) {
    EXPECT_EQ(cause.reason.size(), Error::kMaxCauseBytes);
    EXPECT_EQ(cause.message.size(), Error::kMaxCauseBytes);
    EXPECT_EQ(cause.field.size(), Error::kMaxCauseBytes);
  }
}

TEST(ErrorTest, ResultsOfEveryKindCarryErrors) {
  Result<std::string> text = Error::NotFound("pod ns/web");
  EXPECT_TRUE(IsNotFound(text));
  EXPECT_FALSE(IsConflict(text));
  Result<bool> flag = Error::Conflict("x");
  EXPECT_TRUE(IsConflict(flag));
  EXPECT_FALSE(flag.has_value());
  EXPECT_THAT(Ok(), IsOk());
}

TEST(ErrorDeathTest, ValueOfAFailureEndsTheProcessAndNamesIt) {
  Result<int> result = Error::Unavailable("connection refused");
  EXPECT_DEATH((void)result.value(), "connection refused");
}

}  // namespace
}  // namespace kube
