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
}

}  // namespace
}  // namespace kube
