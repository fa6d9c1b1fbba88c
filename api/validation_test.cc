// SPDX-License-Identifier: Apache-2.0
#include "api/validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/architecture.h"
#include "api/testing/make_config.h"

namespace api {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

PodPlacementConfig Config(const char* name, int priority, int64_t created = 0) {
  MakeConfig config = MakeConfig(name).Priority(priority).Prefer("arm64", 75);
  if (created != 0) config.Created(created);
  return config;
}

TEST(ValidationTest, AConfigNeedsTheClusterConfig) {
  EXPECT_THAT(ValidateCreate(Config("a", 1), {}, true), IsEmpty());
  EXPECT_THAT(Describe(ValidateCreate(Config("a", 1), {}, false)), HasSubstr("create it before"));
}

TEST(ValidationTest, APriorityIsUniqueInANamespace) {
  PodPlacementConfig first = Config("first", 7, 100);
  EXPECT_EQ(Describe(ValidateCreate(Config("second", 7), {&first}, true)),
            "spec.priority: 7 is already used by PodPlacementConfig first in this namespace");
  EXPECT_THAT(ValidateCreate(Config("second", 8), {&first}, true), IsEmpty());
  // `config` itself in an older version, from a cache.
  EXPECT_THAT(ValidateCreate(Config("first", 7), {&first}, true), IsEmpty());

  PodPlacementConfig second = Config("second", 8, 200);
  EXPECT_EQ(ValidateUpdate(second, Config("second", 7, 200), {&first, &second}).size(), 1u);
  EXPECT_THAT(ValidateUpdate(second, Config("second", 9, 200), {&first, &second}), IsEmpty());
}

TEST(ValidationTest, UpdatesAreCheckedForTheirChanges) {
  PodPlacementConfig rival = Config("rival", 7, 100);
  PodPlacementConfig old_config = Config("a", 7, 200);  // created at the same time as `rival`
  PodPlacementConfig labelled = old_config;
  (*labelled.mutable_metadata()->mutable_labels())["x"] = "y";
  EXPECT_THAT(ValidateUpdate(old_config, labelled, {&rival}), IsEmpty());

  PodPlacementConfig other_weight = old_config;
  other_weight.spec.plugins->node_affinity_scoring->platforms[0].weight = 1;
  EXPECT_THAT(ValidateUpdate(old_config, other_weight, {&rival}), IsEmpty());

  // A refused field is not in the typed spec: the specs are equal, but the problems differ.
  PodPlacementConfig bad = old_config;
  bad.problems.push_back({"spec.plugins.x", "is wrong"});
  EXPECT_EQ(ValidateUpdate(old_config, bad, {}).size(), 1u);
  EXPECT_THAT(ValidateUpdate(bad, bad, {}), IsEmpty());

  bad.mutable_metadata()->mutable_deletion_timestamp()->set_seconds(1);
  EXPECT_THAT(ValidateUpdate(old_config, bad, {}), IsEmpty());
}

TEST(ValidationTest, OnlyOneClusterConfigIsAllowed) {
  EXPECT_THAT(ValidateCreate(MakeClusterConfig()), IsEmpty());
  EXPECT_THAT(Describe(ValidateCreate(MakeClusterConfig("other"))),
              HasSubstr("must be \"cluster\""));
}

TEST(ValidationTest, UpdatesOfTheClusterConfigAreCheckedForTheirChanges) {
  ClusterPodPlacementConfig old_config = MakeClusterConfig();
  ClusterPodPlacementConfig bad = old_config;
  bad.problems.push_back({"spec.logVerbosity", "is wrong"});
  EXPECT_EQ(ValidateUpdate(old_config, bad).size(), 1u);
  EXPECT_THAT(ValidateUpdate(bad, bad), IsEmpty());
}

TEST(ValidationTest, TheClusterConfigCannotBeDeletedBeforeTheOthers) {
  EXPECT_THAT(ValidateDelete(MakeClusterConfig(), {}), IsEmpty());
  PodPlacementConfig a = Config("a", 1), b = Config("b", 2), c = Config("c", 3), d = Config("d", 4);
  EXPECT_EQ(Describe(ValidateDelete(MakeClusterConfig(), {&a, &b, &c, &d})),
            "metadata.name: cannot be deleted while PodPlacementConfigs exist: ns/a, ns/b, "
            "ns/c and others");
  // A config with another name can be deleted.
  EXPECT_THAT(ValidateDelete(MakeClusterConfig("other"), {&a}), IsEmpty());
}

TEST(ValidationTest, UnknownArchitecturesAreAWarning) {
  const std::string known =
      "386, amd64, arm, arm64, loong64, mips, mips64, mips64le, mipsle, ppc64, ppc64le, riscv64, "
      "s390x";
  EXPECT_EQ(WarningOfUnknownArchitectures(Config("a", 1)), "");
  EXPECT_EQ(WarningOfUnknownArchitectures(MakeConfig("a").Prefer("riscv64", 1)), "");
  EXPECT_EQ(WarningOfUnknownArchitectures(MakeConfig("a").Prefer("amd46", 1).Prefer("arm64", 2)),
            "architecture \"amd46\" is not known; known ones are " + known);
  EXPECT_EQ(WarningOfUnknownArchitectures(MakeConfig("a").Rule("large", "true", "vax", 5)),
            "architecture \"vax\" is not known; known ones are " + known);
  MakeConfig many("a");
  for (char letter : {'a', 'b', 'c', 'd'})
    many.Prefer(std::string(kMaxArchitectureName, letter), 1);
  std::string warning = WarningOfUnknownArchitectures(many);
  EXPECT_THAT(warning,
              HasSubstr(std::string(kMaxArchitectureName, 'b') + "\" and 2 more are not known"));
  EXPECT_LE(warning.size(), 256u);

  EXPECT_EQ(WarningOfUnknownArchitectures(MakeClusterConfig()), "");
  EXPECT_EQ(
      WarningOfUnknownArchitectures(MakeClusterConfig().Prefer("loong64", 1).Fallback("mips64le")),
      "");
  EXPECT_EQ(WarningOfUnknownArchitectures(
                MakeClusterConfig().Prefer("x86", 1).Prefer("arm64", 2).Fallback("aarch64")),
            "architectures \"aarch64\", \"x86\" are not known; known ones are " + known);
}

TEST(ValidationTest, OrdersByPriorityThenAgeThenName) {
  EXPECT_TRUE(Precedes(Config("b", 2, 200), Config("a", 1, 100)));
  EXPECT_TRUE(Precedes(Config("b", 1, 100), Config("a", 1, 200)));
  EXPECT_TRUE(Precedes(Config("b", 1, 100), Config("a", 1)));
  EXPECT_TRUE(Precedes(Config("a", 1, 100), Config("b", 1, 100)));
  EXPECT_FALSE(Precedes(Config("a", 1, 100), Config("a", 1, 100)));
}

TEST(ValidationTest, TheOldestHoldsAPriority) {
  PodPlacementConfig old_config = Config("z", 7, 100), middle = Config("m", 7, 200),
                     young = Config("a", 7, 300);
  PodPlacementConfigs all = {&young, &old_config, &middle};
  EXPECT_EQ(PriorityHolder(old_config, all), nullptr);
  EXPECT_EQ(PriorityHolder(middle, all), &old_config);
  EXPECT_EQ(PriorityHolder(young, all), &old_config);
  EXPECT_EQ(PriorityHolder(Config("x", 8, 400), all), nullptr);
}

TEST(ValidationTest, OfOnePriorityTheOldestIsInForce) {
  PodPlacementConfig old_config = Config("z", 7, 100), middle = Config("m", 7, 200),
                     young = Config("a", 7, 300);
  PodPlacementConfig same_second = Config("b", 7, 100), low = Config("low", 1, 500),
                     high = Config("high", 9, 600);
  PodPlacementConfigs all = {&low, &young, &old_config, &middle, &high};
  EXPECT_THAT(InForce(all), testing::ElementsAre(&high, &old_config, &low));
  EXPECT_THAT(InForce({&young, &middle}), testing::ElementsAre(&middle));
  EXPECT_THAT(InForce({&old_config, &same_second}), testing::ElementsAre(&same_second))
      << "by name";
  EXPECT_THAT(InForce({}), IsEmpty());
  all.push_back(&same_second);
  for (const PodPlacementConfig* config : all) {
    PodPlacementConfigs in_force = InForce(all);
    bool applied = std::find(in_force.begin(), in_force.end(), config) != in_force.end();
    EXPECT_EQ(applied, PriorityHolder(*config, all) == nullptr) << config->metadata().name();
  }
}

}  // namespace
}  // namespace api
