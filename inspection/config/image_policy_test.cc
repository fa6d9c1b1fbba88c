// SPDX-License-Identifier: Apache-2.0
#include "inspection/config/image_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inspection/testing/mutate.h"
#include "kube/testing/matchers.h"

namespace inspection {
namespace {

using kube::Code;
using kube::FailsWith;
using kube::IsOk;
using ::testing::HasSubstr;

kube::Result<void> Check(std::string_view json, const std::string& image) {
  kube::Result<ImagePolicy> policy = ImagePolicy::Parse(json);
  if (!policy) return policy.error();
  return policy->Check(*Reference::Parse(image));
}

constexpr std::string_view kPolicy = R"({
  "default": [{"type": "reject"}],
  "transports": {"docker": {
    "quay.io": [{"type": "insecureAcceptAnything"}],
    "quay.io/bad": [{"type": "reject"}],
    "quay.io/bad/good:1": [{"type": "insecureAcceptAnything"}],
    "*.example.com": [{"type": "insecureAcceptAnything"}],
    "signed.io": [{"type": "insecureAcceptAnything"}, {"type": "signedBy"}]}}})";

TEST(ImagePolicyTest, NoPolicyAcceptsEverything) { EXPECT_THAT(Check("", "r.io/a"), IsOk()); }

TEST(ImagePolicyTest, TheMostSpecificScopeDecides) {
  EXPECT_THAT(Check(kPolicy, "quay.io/a/b:1"), IsOk());
  EXPECT_THAT(Check(kPolicy, "quay.io/bad/x:1"),
              FailsWith(Code::kPermissionDenied, HasSubstr("quay.io/bad")));
  EXPECT_THAT(Check(kPolicy, "quay.io/badly/x:1"), IsOk());
  EXPECT_THAT(Check(kPolicy, "quay.io/bad/good:1"), IsOk());
  EXPECT_THAT(Check(kPolicy, "quay.io/bad/good:2"), FailsWith(Code::kPermissionDenied));
  EXPECT_THAT(Check(kPolicy, "a.b.example.com/x"), IsOk());
  EXPECT_THAT(Check(kPolicy, "example.com/x"),
              FailsWith(Code::kPermissionDenied, HasSubstr("default")));
}

TEST(ImagePolicyTest, RequiredSignaturesAreRefused) {
  EXPECT_THAT(Check(kPolicy, "signed.io/x"),
              FailsWith(Code::kPermissionDenied, HasSubstr("signatures")));
}

TEST(ImagePolicyTest, RefusesInvalidPolicies) {
  for (std::string_view row :
       {"x", "{}", "[]", R"({"default":[]})", R"({"default":[{"type":"odd"}]})",
        R"({"default":[7]})", R"({"default":[{"type":"reject"}],"transports":{"docker":7}})",
        R"({"default":[{"type":"reject"}],"transports":{"docker":{"a":{}}}})"}) {
    EXPECT_THAT(Check(row, "r.io/a"), FailsWith(Code::kInvalid)) << row;
  }
}

TEST(ImagePolicyTest, DamageIsHarmless) {
  ForMutations({std::string(kPolicy)}, 5'000, [](const std::string& text) {
    kube::IgnoreError(Check(text, "quay.io/bad/x:1"), "only a crash fails the test");
  });
}

TEST(ImagePolicyTest, AllowOnlyRefusesOtherScopes) {
  ImagePolicy policy;
  policy.AllowOnly({"good.io", "other.io/team", "*.wild.io"});
  for (const char* image : {"good.io/a:1", "other.io/team/a", "x.wild.io/a"}) {
    EXPECT_TRUE(policy.Check(*Reference::Parse(image))) << image;
  }
  for (const char* image : {"bad.io/a", "other.io/a", "good.io.evil.com/a", "nginx"}) {
    EXPECT_THAT(policy.Check(*Reference::Parse(image)),
                kube::FailsWith(kube::Code::kPermissionDenied))
        << image;
  }
}

}  // namespace
}  // namespace inspection
