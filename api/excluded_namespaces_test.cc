// SPDX-License-Identifier: Apache-2.0
#include "api/excluded_namespaces.h"

#include <gtest/gtest.h>

#include "api/names.h"
#include "kube/testing/matchers.h"

namespace api {
namespace {

using kube::Code;
using kube::FailsWith;

TEST(ExcludedNamespacesTest, ANamespaceIsExcludedByItsPrefixUnlessItHasTheLabel) {
  ExcludedNamespaces excluded = *ExcludedNamespaces::Parse("openshift-*,hypershift-*");
  EXPECT_EQ(excluded.ToString(), "openshift-*,hypershift-*");
  google::protobuf::Map<std::string, std::string> labels;
  for (const char* ns : {"openshift-monitoring", "hypershift-a", "openshift-"})
    EXPECT_TRUE(excluded.Excludes(ns, labels)) << ns;
  for (const char* ns : {"openshift", "shop", "my-openshift-shop", "default"})
    EXPECT_FALSE(excluded.Excludes(ns, labels)) << ns;
  // Any value, as for the label that excludes a namespace.
  labels[std::string(kIncludeLabel)] = "";
  EXPECT_FALSE(excluded.Excludes("openshift-monitoring", labels));
  EXPECT_TRUE(excluded.Names("openshift-monitoring"));
  EXPECT_FALSE(ExcludedNamespaces().Excludes("openshift-monitoring", {}));
  EXPECT_TRUE(ExcludedNamespaces::Parse("")->empty());
}

TEST(ExcludedNamespacesTest, TheLabelThatOptsOutExcludesEveryNamespace) {
  ExcludedNamespaces openshift = *ExcludedNamespaces::Parse("openshift-*");
  google::protobuf::Map<std::string, std::string> labels;
  // Any value.
  labels[std::string(kExcludeLabel)] = "false";
  for (const ExcludedNamespaces& excluded : {ExcludedNamespaces(), openshift}) {
    EXPECT_TRUE(excluded.Excludes("shop", labels));
    EXPECT_TRUE(excluded.Excludes("openshift-monitoring", labels));
  }
  labels[std::string(kIncludeLabel)] = "";
  EXPECT_TRUE(openshift.Excludes("openshift-monitoring", labels));
  EXPECT_FALSE(openshift.Names("shop"));
}

// They become parts of CEL expressions.
TEST(ExcludedNamespacesTest, RefusesWhatIsNotThePrefixOfAName) {
  for (const char* wrong : {"*", "openshift", "openshift-*-a", "o'*", "o\\*", "O*", "a.*", "a*,b"})
    EXPECT_THAT(ExcludedNamespaces::Parse(wrong), FailsWith(Code::kInvalid)) << wrong;
  EXPECT_THAT(ExcludedNamespaces::Parse(std::string(63, 'a') + "*"), FailsWith(Code::kInvalid));
  std::string many;
  for (size_t i = 0; i <= kMaxExcludedNamespaces; ++i) many += "a*,";
  EXPECT_THAT(ExcludedNamespaces::Parse(many), FailsWith(Code::kInvalid, testing::HasSubstr("16")));
}

}  // namespace
}  // namespace api
