// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/findings/image_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cluster_controller {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kDigest[] = "sha256:one";

TEST(ImageFindings, CountForTheirNamespaceOrForAll) {
  ImageFindings findings;
  findings.Put("a", {.digest = kDigest, .architecture = "arm64"});
  findings.Put("b", {.digest = kDigest, .architecture = "amd64", .ns = "team-a"});
  findings.Put("c", {.digest = "sha256:two", .architecture = "s390x"});
  EXPECT_THAT(findings.WrongFor(kDigest, "team-a"), ElementsAre("amd64", "arm64"));
  EXPECT_THAT(findings.WrongFor(kDigest, "team-b"), ElementsAre("arm64"));
  EXPECT_THAT(findings.WrongFor("sha256:three", "team-a"), IsEmpty());
}

TEST(ImageFindings, AreReplacedAndErasedByName) {
  ImageFindings findings;
  std::vector<std::string> put;
  findings.OnPut([&](const std::string& digest) { put.push_back(digest); });
  findings.Put("a", {.digest = kDigest, .architecture = "arm64"});
  findings.Put("a", {.digest = kDigest, .architecture = "amd64"});
  EXPECT_THAT(findings.WrongFor(kDigest, ""), ElementsAre("amd64"));
  EXPECT_EQ(findings.size(), 1U);
  EXPECT_THAT(put, ElementsAre(kDigest, kDigest));

  findings.Erase("b");
  findings.Erase("a");
  EXPECT_FALSE(findings.Has(kDigest));
  EXPECT_THAT(findings.WrongFor(kDigest, ""), IsEmpty());

  findings.Put("a", {.digest = kDigest, .architecture = "arm64", .ns = "team-a"});
  EXPECT_TRUE(findings.Has(kDigest)) << "of another namespace";
  findings.Clear();
  EXPECT_FALSE(findings.Has(kDigest));
}

TEST(ImageFindings, ALevelIsNoWrongArchitecture) {
  ImageFindings findings;
  findings.Put("a", {.digest = kDigest, .architecture = "amd64", .amd64_level = 3});
  findings.Put("b", {.digest = kDigest, .architecture = "amd64", .ns = "b", .amd64_level = 4});
  EXPECT_EQ(findings.Amd64LevelFor(kDigest, "a"), 3);
  EXPECT_EQ(findings.Amd64LevelFor(kDigest, "b"), 4);
  EXPECT_EQ(findings.Amd64LevelFor("sha256:other", "b"), 0);
  EXPECT_THAT(findings.WrongFor(kDigest, "b"), IsEmpty());
}

}  // namespace
}  // namespace cluster_controller
