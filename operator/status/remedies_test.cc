// SPDX-License-Identifier: Apache-2.0
#include "operator/status/remedies.h"

#include <gtest/gtest.h>

namespace operator_ {
namespace {

// Messages of an API server 1.36.
TEST(RemediesTest, NamesTheCauseBehindAGeneralReason) {
  struct Row {
    const char* reason;
    const char* message;
    const char* cause;
  };
  const Row rows[] = {
      {"FailedCreate",
       "pods \"p\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: "
       "pods=2",
       "QuotaExceeded"},
      {"FailedCreate", "pods \"p\" is forbidden: failed quota: q: must specify limits.cpu for: x",
       "QuotaExceeded"},
      {"FailedCreate",
       "pods \"p\" is forbidden: violates PodSecurity \"restricted:latest\": hostPath volumes",
       "PodSecurity"},
      {"FailedCreate",
       "pods \"p\" is forbidden: maximum memory usage per Container is 32Mi, but limit is 64Mi",
       "LimitRange"},
      {"Forbidden", "admission webhook \"x.example.com\" denied the request: no",
       "AdmissionDenied"},
      {"Invalid",
       "services \"s\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied "
       "request: no",
       "AdmissionDenied"},
      {"InternalError",
       "Internal error occurred: failed calling webhook \"x.example.com\": failed to call webhook: "
       "Post \"https://x\": context deadline exceeded",
       "AdmissionWebhookFailed"},
      {"Forbidden",
       "roles.rbac.authorization.k8s.io \"r\" is forbidden: user \"u\" (groups=[\"g\"]) is "
       "attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"\"]}",
       "RightsMissing"},
      {"FailedCreate", "no such thing", "FailedCreate"},
      {"ImagePullBackOff", "pod p: Back-off pulling image", "ImagePullBackOff"},
  };
  for (const Row& row : rows)
    EXPECT_EQ(Classify({row.reason, row.message}).reason, row.cause) << row.message;
}

TEST(RemediesTest, AMissingRightIsNamedByVerbAndResource) {
  struct Row {
    const char* message;
    const char* right;
  };
  const Row rows[] = {
      {"deployments.apps \"d\" is forbidden: User \"system:serviceaccount:ops:o\" cannot patch "
       "resource \"deployments\" in API group \"apps\" in the namespace \"shop\"",
       "the operator may not patch deployments.apps in namespace shop ("},
      {"pods is forbidden: User \"o\" cannot list resource \"pods\" in API group \"\" at the "
       "cluster scope",
       "the operator may not list pods in the whole cluster ("},
      // Not the API server's text.
      {"x is forbidden: User \"o\" cannot do", "x is forbidden: "},
  };
  for (const Row& row : rows) {
    Problem problem = Classify({"Forbidden", row.message});
    EXPECT_EQ(problem.reason, "RightsMissing");
    EXPECT_TRUE(problem.message.starts_with(row.right)) << problem.message;
    EXPECT_NE(problem.message.find(row.message), std::string::npos);
  }
}

TEST(RemediesTest, EveryReasonHasARemedy) {
  for (const char* reason :
       {"QuotaExceeded", "LimitRange", "PodSecurity", "AdmissionDenied", "AdmissionWebhookFailed",
        "RightsMissing", "ImagePullBackOff", "ErrImagePull", "CrashLoopBackOff", "Unschedulable",
        "MinimumReplicasUnavailable", "InvalidReference", "InvalidSpec", "TooLarge",
        "RulesNotApplied"}) {
    EXPECT_NE(RemedyFor(reason), RemedyFor("Unknown")) << reason;
  }
  EXPECT_EQ(WithRemedy({"InvalidImageName", "pod p: x"}),
            "pod p: x. Remedy: correct the image in the operator's flags");
}

}  // namespace
}  // namespace operator_
