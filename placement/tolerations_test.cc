// SPDX-License-Identifier: Apache-2.0
#include "placement/tolerations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <sstream>

#include "api/testing/make_config.h"
#include "kube/testing/make_pod.h"

namespace placement {
namespace {

using kube::MakePod;
using kube::core::Pod;
using kube::core::Toleration;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Tolerations as text, "KEY OPERATOR VALUE EFFECT" separated by "; ", with "-" for an absent field.
std::string Text(const Pod& pod) {
  auto word = [](const std::string& field) { return field.empty() ? "-" : field; };
  std::string text;
  for (const Toleration& toleration : pod.spec().tolerations()) {
    text += (text.empty() ? "" : "; ") + word(toleration.key()) + " " +
            word(toleration.operator_()) + " " + word(toleration.value()) + " " +
            word(toleration.effect());
  }
  return text;
}

Pod PodWith(const std::string& tolerations) {
  Pod pod = MakePod("web").Image("a:1");
  std::istringstream words(tolerations);
  auto field = [&] {
    std::string word;
    words >> word;
    if (word.ends_with(';')) word.pop_back();
    return word == "-" ? "" : word;
  };
  while (words >> std::ws && !words.eof()) {
    Toleration& toleration = *pod.mutable_spec()->add_tolerations();
    if (std::string key = field(); !key.empty()) toleration.set_key(key);
    if (std::string op = field(); !op.empty()) toleration.set_operator_(op);
    if (std::string value = field(); !value.empty()) toleration.set_value(value);
    if (std::string effect = field(); !effect.empty()) toleration.set_effect(effect);
  }
  return pod;
}

struct Row {
  const char* name;
  api::ArchitectureTolerations plugin;
  ArchitectureSet supported;
  // The tolerations of the pod.
  const char* before;
  const char* after;
};

const char kArm64[] = "kubernetes.io/arch Equal arm64 NoSchedule";

const Row kRows[] = {
    {"a disabled plugin adds nothing", {.enabled = false}, {"arm64"}, "", ""},
    {"an architecture", {.enabled = true}, {"arm64"}, "", kArm64},
    {"each supported architecture, sorted",
     {.enabled = true},
     {"s390x", "amd64"},
     "",
     "kubernetes.io/arch Equal amd64 NoSchedule; kubernetes.io/arch Equal s390x NoSchedule"},
    {"each effect in the order of the config",
     {.enabled = true, .effects = {"NoExecute", "NoSchedule"}, .key = "pool"},
     {"arm64", "amd64"},
     "",
     "pool Equal amd64 NoExecute; pool Equal amd64 NoSchedule; "
     "pool Equal arm64 NoExecute; pool Equal arm64 NoSchedule"},
    {"no architecture in common", {.enabled = true}, {}, "", ""},
    {"any architecture, also one that is not known",
     {.enabled = true},
     {"riscv64", "vax"},
     "",
     "kubernetes.io/arch Equal riscv64 NoSchedule; kubernetes.io/arch Equal vax NoSchedule"},
    {"only names", {.enabled = true}, {"arm64", "no such", "operand", ""}, "", kArm64},
    {"after the pod's own, which stay",
     {.enabled = true},
     {"arm64"},
     "gpu Exists - NoSchedule",
     "gpu Exists - NoSchedule; kubernetes.io/arch Equal arm64 NoSchedule"},

    // The pod already tolerates the taint.
    {"an equal one", {.enabled = true}, {"arm64"}, kArm64, kArm64},
    {"Equal is the default of the operator",
     {.enabled = true},
     {"arm64"},
     "kubernetes.io/arch - arm64 NoSchedule",
     "kubernetes.io/arch - arm64 NoSchedule"},
    {"every value of the key",
     {.enabled = true},
     {"arm64", "amd64"},
     "kubernetes.io/arch Exists - NoSchedule",
     "kubernetes.io/arch Exists - NoSchedule"},
    {"every effect",
     {.enabled = true, .effects = {"NoSchedule", "NoExecute", "PreferNoSchedule"}},
     {"arm64"},
     "kubernetes.io/arch Equal arm64 -",
     "kubernetes.io/arch Equal arm64 -"},
    {"everything", {.enabled = true}, {"arm64"}, "- Exists - -", "- Exists - -"},
    {"every key, of one effect",
     {.enabled = true, .effects = {"NoSchedule", "NoExecute"}},
     {"arm64"},
     "- Exists - NoExecute",
     "- Exists - NoExecute; kubernetes.io/arch Equal arm64 NoSchedule"},

    // It tolerates another one.
    {"another value",
     {.enabled = true},
     {"arm64"},
     "kubernetes.io/arch Equal amd64 NoSchedule",
     "kubernetes.io/arch Equal amd64 NoSchedule; kubernetes.io/arch Equal arm64 NoSchedule"},
    {"another effect",
     {.enabled = true},
     {"arm64"},
     "kubernetes.io/arch Exists - NoExecute",
     "kubernetes.io/arch Exists - NoExecute; kubernetes.io/arch Equal arm64 NoSchedule"},
    {"another key",
     {.enabled = true},
     {"arm64"},
     "pool Exists - -",
     "pool Exists - -; kubernetes.io/arch Equal arm64 NoSchedule"},
    {"an operator of a newer API",
     {.enabled = true},
     {"arm64"},
     "kubernetes.io/arch Gt arm64 NoSchedule",
     "kubernetes.io/arch Gt arm64 NoSchedule; kubernetes.io/arch Equal arm64 NoSchedule"},
};

TEST(TolerationsTest, Rows) {
  for (const Row& row : kRows) {
    Pod pod = PodWith(row.before);
    ASSERT_EQ(Text(pod), row.before) << row.name;
    int before = pod.spec().tolerations_size();
    std::vector<std::string> added = ApplyTolerations(pod, row.plugin, row.supported);
    EXPECT_EQ(Text(pod), row.after) << row.name;
    EXPECT_EQ(static_cast<int>(added.size()), pod.spec().tolerations_size() - before) << row.name;

    std::string once = pod.SerializeAsString();
    EXPECT_THAT(ApplyTolerations(pod, row.plugin, row.supported), IsEmpty()) << row.name;
    EXPECT_EQ(pod.SerializeAsString(), once) << row.name << ": a second call";
  }
}

TEST(TolerationsTest, AtMostThirtyTwoArchitecturesAreTolerated) {
  api::ArchitectureTolerations plugin{
      .enabled = true, .effects = {api::kTaintEffects.begin(), api::kTaintEffects.end()}};
  ArchitectureSet supported;
  for (size_t i = 0; i <= kMaxArchitectures; ++i) supported.insert("arch" + std::to_string(i));
  Pod pod = MakePod("web");
  EXPECT_EQ(ApplyTolerations(pod, plugin, supported).size(), 96u);
  EXPECT_EQ(kMaxTolerations, 96u);
  EXPECT_EQ(pod.spec().tolerations_size(), 96);
}

TEST(TolerationsTest, TellsWhatWasAdded) {
  Pod pod = PodWith("kubernetes.io/arch Equal amd64 -");
  EXPECT_THAT(ApplyTolerations(pod, {.enabled = true, .effects = {"NoSchedule", "NoExecute"}},
                               {"amd64", "arm64"}),
              ElementsAre("arm64:NoSchedule", "arm64:NoExecute"));
}

// The user has decided how long such a pod stays.
TEST(TolerationsTest, ATolerationThatEndsIsKept) {
  Pod pod = PodWith("kubernetes.io/arch Equal arm64 NoExecute");
  pod.mutable_spec()->mutable_tolerations(0)->set_toleration_seconds(60);
  EXPECT_THAT(ApplyTolerations(pod, {.enabled = true, .effects = {"NoExecute"}}, {"arm64"}),
              IsEmpty());
  EXPECT_EQ(pod.spec().tolerations(0).toleration_seconds(), 60);
}

TEST(TolerationsTest, TheFirstConfigWithThePluginDecides) {
  api::PodPlacementConfig none = api::MakeConfig("none");
  api::PodPlacementConfig off = api::MakeConfig("off").Tolerate(false);
  api::PodPlacementConfig on = api::MakeConfig("on").Tolerate();
  EXPECT_EQ(ConfigForTolerations({}), nullptr);
  EXPECT_EQ(ConfigForTolerations({&none}), nullptr);
  EXPECT_EQ(ConfigForTolerations({&none, &off, &on}), &off);
  EXPECT_EQ(ConfigForTolerations({&on, &off}), &on);

  api::PodPlacementConfig invalid = on;
  invalid.problems.push_back({});
  EXPECT_EQ(ConfigForTolerations({&invalid, &off}), &off);
}

}  // namespace
}  // namespace placement
