// SPDX-License-Identifier: Apache-2.0
#include "exec-format/findings/image_finding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "kube/types/unstructured.h"

namespace exec_format {
namespace {

ImageFinding Example() {
  ImageFinding finding;
  finding.mutable_metadata()->set_name("arm64-1");
  finding.digest = "sha256:0123";
  finding.architecture = "arm64";
  finding.ns = "team-a";
  finding.ignored = true;
  finding.amd64_level = 3;
  finding.image = "r.io/app:1";
  finding.path = "/app";
  finding.machine = "amd64";
  finding.node = "node-1";
  finding.of_namespace = "team-a";
  finding.seen = std::chrono::sys_seconds(std::chrono::seconds(1'700'000'000));
  return finding;
}

TEST(ImageFinding, IsReadAsItIsWritten) {
  const kube::Json json = Example().ToJson();
  EXPECT_EQ(kube::StringAt(json, "evidence.seen"), "2023-11-14T22:13:20Z");
  auto read = ImageFinding::FromJson(json);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->ToJson(), json);
  EXPECT_EQ(read->seen, Example().seen);
  EXPECT_TRUE(read->ignored);
}

TEST(ImageFinding, AnyObjectIsRead) {
  for (const char* text : {R"({})", R"({"spec": 1, "evidence": []})",
                           R"({"spec": {"digest": 7, "ignored": "yes"},
                               "evidence": {"seen": "yesterday", "path": null}})"}) {
    auto read = ImageFinding::FromJson(kube::MustParseJson(text));
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->digest, "") << text;
    EXPECT_FALSE(read->ignored) << text;
    EXPECT_EQ(read->seen, std::chrono::sys_seconds{}) << text;
  }
}

TEST(ImageFinding, LongTextsAreCut) {
  kube::Json json = Example().ToJson();
  json["evidence"]["path"] = std::string(5'000, 'p');
  auto read = ImageFinding::FromJson(json);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->path.size(), kMaxFindingText);
}

TEST(ImageFinding, ANameIsOfDigestArchitectureAndNamespace) {
  const std::string name = FindingName("sha256:0123", "arm64", "");
  EXPECT_THAT(name, testing::MatchesRegex("arm64-[0-9a-f]{20}"));
  EXPECT_EQ(FindingName("sha256:0123", "arm64", ""), name);
  EXPECT_NE(FindingName("sha256:0124", "arm64", ""), name);
  EXPECT_NE(FindingName("sha256:0123", "amd64", "").substr(5), name.substr(5));
  EXPECT_NE(FindingName("sha256:0123", "arm64", "team-a"), name);
}

TEST(ImageFinding, IsDescribedWithTheEvidence) {
  ImageFinding finding = Example();
  EXPECT_EQ(Describe(finding), "the program /app needs x86-64-v3");
  finding.amd64_level = 0;
  EXPECT_EQ(Describe(finding), "the program /app is built for amd64");
  finding.machine.clear();
  finding.path = "/a\npp";
  EXPECT_EQ(Describe(finding), "the program /a pp failed with an exec format error in two pods");
}

}  // namespace
}  // namespace exec_format
