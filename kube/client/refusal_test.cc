// SPDX-License-Identifier: Apache-2.0
#include "kube/client/refusal.h"

#include <gtest/gtest.h>

namespace kube {
namespace {

TEST(RefusalTest, DependsOnTheStatus) {
  for (int status : {400, 402, 403, 405, 413, 415, 418, 422, 451}) {
    EXPECT_TRUE(IsRefusal(Error::FromHttpStatus(status, "", "no"))) << status;
  }
  for (int status : {401, 404, 408, 409, 410, 429, 500, 503}) {
    EXPECT_FALSE(IsRefusal(Error::FromHttpStatus(status, "", "no"))) << status;
  }
  EXPECT_FALSE(IsRefusal(Error::Cancelled("stopping")));
}

TEST(RefusalTest, IsNotAMissingPermission) {
  Error policy = Error::PermissionDenied(
      R"(pods "web" is forbidden: ValidatingAdmissionPolicy 'frozen' with binding 'all' denied request: not now)");
  EXPECT_TRUE(IsRefusal(policy));
  Error authorizer = Error::PermissionDenied(
      R"(pods "web" is forbidden: User "system:serviceaccount:a:b" cannot update resource "pods" in API group "")");
  EXPECT_FALSE(IsRefusal(authorizer.Prefix("write the pod")));
  EXPECT_TRUE(LacksPermission(authorizer.Prefix("write the pod")));
  EXPECT_FALSE(LacksPermission(policy));
}

TEST(RefusalTest, AnotherReasonThanForbiddenIsOfAdmission) {
  std::string message = R"(pods "web" is forbidden: User "a" cannot update resource "pods")";
  EXPECT_TRUE(LacksPermission(Error::FromHttpStatus(403, "Forbidden", message)));
  Error policy = Error::FromHttpStatus(403, "TeamIsFrozen", message);
  EXPECT_FALSE(LacksPermission(policy));
  EXPECT_TRUE(IsRefusal(policy));
}

TEST(RefusalTest, WhatFailsAgain) {
  for (int status : {400, 403, 404, 405, 413, 415, 418, 422}) {
    EXPECT_TRUE(FailsAgain(Error::FromHttpStatus(status, "", "no"))) << status;
  }
  for (int status : {401, 408, 409, 410, 429, 500, 503, 504}) {
    EXPECT_FALSE(FailsAgain(Error::FromHttpStatus(status, "", "no"))) << status;
  }
  EXPECT_TRUE(FailsAgain(Error::PermissionDenied(R"(pods is forbidden: User "a" cannot list)")));
  EXPECT_FALSE(FailsAgain(Error::DeadlineExceeded("call")));
  EXPECT_FALSE(FailsAgain(Error::Cancelled("stopping")));
}

}  // namespace
}  // namespace kube
