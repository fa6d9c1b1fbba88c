// SPDX-License-Identifier: Apache-2.0
#include "exec-format/findings/finding_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace exec_format {
namespace {

using std::chrono::sys_seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using namespace std::chrono_literals;

const sys_seconds kNow{1'700'000'000s};

ImageFinding Finding(const std::string& name, const std::string& ns, sys_seconds seen = kNow) {
  ImageFinding finding;
  finding.mutable_metadata()->set_name(name);
  finding.of_namespace = ns;
  finding.seen = seen;
  return finding;
}

TEST(FindingLimits, AFindingExpiresUnlessAnAdministratorKeepsIt) {
  ImageFinding finding = Finding("a", "team-a", kNow - kFindingLifetime + 1s);
  EXPECT_FALSE(IsExpired(finding, kNow));
  finding.seen -= 1s;
  EXPECT_TRUE(IsExpired(finding, kNow));
  finding.ignored = true;
  EXPECT_FALSE(IsExpired(finding, kNow));
  EXPECT_TRUE(IsExpired(Finding("b", "team-a", kNow + kFindingLifetime + 1s), kNow))
      << "a clock was ahead";
}

TEST(FindingLimits, TheOldestOfTheNamespaceGoes) {
  std::vector<ImageFinding> all = {Finding("other", "team-b", kNow - 900h)};
  for (size_t i = 0; i < kMaxFindingsOfNamespace - 1; ++i)
    all.push_back(Finding("f" + std::to_string(i), "team-a", kNow - i * 1s));
  EXPECT_THAT(MakeRoom(all, "team-a"), IsEmpty());
  all.push_back(Finding("oldest", "team-a", kNow - 800h));
  EXPECT_THAT(MakeRoom(all, "team-a"), ElementsAre("oldest"));
  EXPECT_THAT(MakeRoom(all, "team-c"), IsEmpty());
  all.back().ignored = true;
  EXPECT_THAT(MakeRoom(all, "team-a"), IsEmpty()) << "an administrator's does not count";
}

// A tenant with many namespaces takes the room of its own findings, not that of others.
TEST(FindingLimits, WhenAllIsFullTheNamespaceWithTheMostLosesOne) {
  std::vector<ImageFinding> all = {Finding("victim", "victim", kNow - 900h)};
  for (size_t ns = 0; all.size() < kMaxFindings; ++ns) {
    for (size_t i = 0; i < kMaxFindingsOfNamespace && all.size() < kMaxFindings; ++i) {
      all.push_back(Finding("f" + std::to_string(ns) + "-" + std::to_string(i),
                            "hostile-" + std::to_string(ns), kNow - i * 1s));
    }
  }
  ASSERT_EQ(all.size(), kMaxFindings);
  const std::vector<std::string> removed = MakeRoom(all, "hostile-new");
  ASSERT_EQ(removed.size(), 1U);
  EXPECT_THAT(removed[0], testing::MatchesRegex("f[0-9]+-31"));
  EXPECT_EQ(MakeRoom(all, "victim").size(), 1U);
  EXPECT_THAT(MakeRoom(all, "victim"), testing::Not(ElementsAre("victim")));
}

}  // namespace
}  // namespace exec_format
