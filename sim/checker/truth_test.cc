// SPDX-License-Identifier: Apache-2.0
// What the checker reads of the world and of the history.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/checker/commit.h"
#include "sim/checker/configs.h"
#include "sim/checker/image_truth.h"
#include "sim/checker/label_selection.h"
#include "sim/checker/timeline.h"
#include "sim/checker/writer.h"

namespace sim::checker {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pointee;

const Image kOld = {.platforms = {{"linux", "amd64"}}};
const Image kNew = {.platforms = {{"linux", "arm64"}}};

TEST(ImageTruthTest, WhatMayBeFound) {
  ImageTruth images;
  images.SetPlatforms("r.io/a", 10s, kOld);
  images.SetPlatforms("r.io/a", 20s, kNew);
  EXPECT_THAT(images.Found("r.io/a", 0s, 5s, 0s), IsEmpty());
  EXPECT_THAT(images.Found("r.io/a", 0s, 15s, 0s), ElementsAre(kOld));
  EXPECT_THAT(images.Found("r.io/a", 12s, 25s, 0s), ElementsAre(kOld, kNew));
  EXPECT_THAT(images.Found("r.io/a", 20s, 25s, 0s), ElementsAre(kNew));
  EXPECT_THAT(images.Found("r.io/b", 0s, 25s, 0s), IsEmpty());
}

TEST(ImageTruthTest, WhileTheRegistryFails) {
  ImageTruth images;
  images.SetPlatforms("r.io/a", 10s, kOld);
  images.SetPlatforms("r.io/a", 20s, kNew);
  images.SetRegistry("r.io", 30s, Registry::kFails);
  images.SetRegistry("r.io", 40s, Registry::kAnswers);
  EXPECT_THAT(images.Found("r.io/a", 32s, 35s, 0s), IsEmpty());
  EXPECT_THAT(images.Found("r.io/a", 32s, 35s, 20s), ElementsAre(kOld, kNew));
  EXPECT_THAT(images.Found("r.io/a", 32s, 45s, 0s), ElementsAre(kNew));
  EXPECT_FALSE(images.MayFail("r.io/a", 20s, 29s));
  EXPECT_TRUE(images.MayFail("r.io/a", 20s, 31s));
  EXPECT_TRUE(images.MayFail("r.io/none", 41s, 42s));
  EXPECT_FALSE(images.MayFail("r.io/a", 41s, 42s));
}

TEST(CommitTest, CollectionOfAPath) {
  Commit commit;
  commit.SetCollection("/api/v1/pods");
  EXPECT_EQ(commit.group, "");
  EXPECT_EQ(commit.plural, "pods");
  commit.SetCollection("/apis/coordination.k8s.io/v1/leases");
  EXPECT_EQ(commit.group, "coordination.k8s.io");
  EXPECT_EQ(commit.plural, "leases");
}

TEST(TimelineTest, ValuesDuring) {
  Timeline<int> timeline(0);
  timeline.Set({.version = 5, .at = 10s}, 1);
  timeline.Set({.version = 8, .at = 20s}, 2);
  EXPECT_THAT(timeline.During(0s, 4), ElementsAre(Pointee(0)));
  EXPECT_THAT(timeline.During(0s, 6), ElementsAre(Pointee(0), Pointee(1)));
  EXPECT_THAT(timeline.During(10s, 9), ElementsAre(Pointee(1), Pointee(2)));
  EXPECT_THAT(timeline.During(30s, 9), ElementsAre(Pointee(2)));
  EXPECT_EQ(timeline.IndexAt(7), 1u);
}

TEST(LabelSelection, AllParts) {
  Json labels = {{"app", "web"}, {"tier", "front"}};
  auto by = [&](const char* key, const char* op, Json values) {
    return Selects(
        {{"matchExpressions", Json::array({{{"key", key}, {"operator", op}, {"values", values}}})}},
        labels);
  };
  EXPECT_TRUE(Selects(Json(), labels));
  EXPECT_TRUE(Selects(Json::object(), labels));
  EXPECT_TRUE(Selects({{"matchLabels", {{"app", "web"}}}}, labels));
  EXPECT_FALSE(Selects({{"matchLabels", {{"app", "mail"}}}}, labels));
  EXPECT_TRUE(by("app", "In", {"web", "mail"}));
  EXPECT_FALSE(by("app", "NotIn", {"web", "mail"}));
  EXPECT_TRUE(by("zone", "NotIn", {"a", "b"}));
  EXPECT_FALSE(by("zone", "In", {"a", "b"}));
  EXPECT_TRUE(by("app", "Exists", Json::array()));
  EXPECT_TRUE(by("zone", "DoesNotExist", Json::array()));
  EXPECT_FALSE(by("app", "Resembles", {"web", "mail"}));
}

TEST(Configs, ReadWithDefaults) {
  ClusterConfig cluster = ClusterConfig::Read(Json::object());
  EXPECT_TRUE(cluster.exists);
  EXPECT_EQ(cluster.takeover_after, 30s);
  EXPECT_EQ(cluster.retry_period, 60s);
  EXPECT_FALSE(cluster.tolerations);
  cluster = ClusterConfig::Read(
      {{"spec",
        {{"shardTakeoverAfter", "1m30s"},
         {"plugins",
          {{"architectureTolerations", {{"enabled", true}}},
           {"nodeAffinityScoring",
            {{"enabled", true},
             {"precedence", "Namespace"},
             {"platforms", Json::array({{{"architecture", "arm64"}, {"weight", 9}}})}}}}}}}});
  EXPECT_EQ(cluster.takeover_after, 90s);
  EXPECT_TRUE(cluster.namespace_precedence);
  EXPECT_THAT(cluster.preferences, ElementsAre(PlatformWeight{"arm64", 9}));
  EXPECT_THAT(cluster.tolerations->effects, ElementsAre("NoSchedule"));
  EXPECT_EQ(cluster.tolerations->key, "kubernetes.io/arch");
}

TEST(Configs, PreferencesCountOnlyIfEnabled) {
  NamespaceConfig config = NamespaceConfig::Read(
      {{"spec",
        {{"plugins",
          {{"nodeAffinityScoring",
            {{"enabled", false},
             {"platforms", Json::array({{{"architecture", "arm64"}, {"weight", 9}}})}}}}}}}});
  EXPECT_THAT(config.preferences, IsEmpty());
}

TEST(Configs, Periods) {
  EXPECT_EQ(ParsePeriod("500ms"), 500ms);
  EXPECT_EQ(ParsePeriod("1h"), 1h);
  EXPECT_EQ(ParsePeriod("2m5s"), 125s);
  EXPECT_FALSE(ParsePeriod(""));
  EXPECT_FALSE(ParsePeriod("5"));
  EXPECT_FALSE(ParsePeriod("-5s"));
  EXPECT_FALSE(ParsePeriod("5 s"));
}

TEST(Writers, ByServiceAccount) {
  Facts facts;
  auto program = [&](const std::string& ns, const std::string& name) {
    return WriterOf("system:serviceaccount:" + ns + ":" + name, facts).program;
  };
  EXPECT_EQ(program(facts.operator_namespace, "multiarch-tuning-operator"), Program::kOperator);
  EXPECT_EQ(program(facts.operator_namespace, "pod-placement-controller"),
            Program::kClusterController);
  EXPECT_EQ(program("shop", "pod-placement-controller"), Program::kOther);
  EXPECT_EQ(program("shop", "pod-placement-shard-controller"), Program::kShard);
  EXPECT_EQ(WriterOf("alice", facts).program, Program::kOther);
  EXPECT_EQ(WriterOf("system:serviceaccount:shop:pod-placement-shard-controller", facts).ns,
            "shop");
}

}  // namespace
}  // namespace sim::checker
