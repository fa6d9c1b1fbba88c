// SPDX-License-Identifier: Apache-2.0
#include "placement/local_configs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/names.h"
#include "kube/testing/make_pod.h"

namespace placement {
namespace {

using kube::MakePod;
using kube::core::Pod;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Pod Recorded(std::string_view text) {
  return MakePod("web").Annotation(api::kLocalConfigsAnnotation, text);
}

// "CONFIG/RULE" of each entry.
std::vector<std::string> Entries(std::string_view text) {
  std::vector<std::string> entries;
  Pod pod = Recorded(text);
  for (const LocalConfig& entry : LocalConfigsOf(pod))
    entries.push_back(std::string(entry.config) + "/" + std::string(entry.rule));
  return entries;
}

TEST(LocalConfigsTest, ReadsConfigsAndRules) {
  EXPECT_THAT(LocalConfigsOf(MakePod("web")), IsEmpty());
  EXPECT_THAT(Entries("a,b.c-d,a/large,"), ElementsAre("a/", "b.c-d/", "a/large"));
}

TEST(LocalConfigsTest, SkipsInvalidNames) {
  EXPECT_THAT(Entries(",../../secrets,A b,?x=1," + std::string(254, 'a')), IsEmpty());
  EXPECT_THAT(Entries("a/,/large,a/b/c,a/L,a/b.c,/,a/" + std::string(64, 'a')), IsEmpty());
  EXPECT_THAT(Entries("A/large,a/large"), ElementsAre("a/large"));
}

TEST(LocalConfigsTest, GatingConfigsAreThoseOfRulesToo) {
  EXPECT_THAT(GatingConfigs(MakePod("web")), IsEmpty());
  EXPECT_THAT(GatingConfigs(Recorded("a,b/large,a,b/small,c,a/x")), ElementsAre("a", "b", "c"));
}

TEST(LocalConfigsTest, ReadsABoundedPartOfALongRecord) {
  std::string configs, rules;
  for (int i = 0; i < 10'000; ++i) {
    configs += std::to_string(i) + ",";
    rules += "a/" + std::to_string(i) + ",";
  }
  EXPECT_EQ(GatingConfigs(Recorded(configs)).size(), 256u);
  EXPECT_EQ(LocalConfigsOf(Recorded(configs)).size(), 256u * 9);
  EXPECT_THAT(GatingConfigs(Recorded(rules)), ElementsAre("a"));
}

}  // namespace
}  // namespace placement
