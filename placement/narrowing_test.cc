// SPDX-License-Identifier: Apache-2.0
#include "placement/narrowing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/names.h"
#include "kube/testing/make_pod.h"
#include "placement/pod_metadata.h"

namespace placement {
namespace {

using kube::MakePod;
using kube::core::Pod;

// Terms are separated by " | ", expressions by " & ".
std::string TermsOf(const Pod& pod) {
  std::string text;
  for (const auto& term : pod.spec()
                              .affinity()
                              .node_affinity()
                              .required_during_scheduling_ignored_during_execution()
                              .node_selector_terms()) {
    if (!text.empty()) text += " | ";
    bool first = true;
    for (const auto& expression : term.match_expressions()) {
      if (!std::exchange(first, false)) text += " & ";
      text +=
          expression.key().substr(expression.key().find('/') + 1) + " " + expression.operator_();
      for (const auto& value : expression.values()) text += " " + value;
    }
  }
  return text;
}

std::string LabelsOf(const Pod& pod) {
  std::map<std::string, std::string> sorted(pod.metadata().labels().begin(),
                                            pod.metadata().labels().end());
  std::string text;
  for (const auto& [key, value] : sorted) text += key.substr(api::kLabelPrefix.size()) + " ";
  return text;
}

CommonPlatforms Images(std::vector<Platform> platforms) {
  SharedPlatforms image =
      std::make_shared<ImagePlatforms>(ImagePlatforms{.platforms = std::move(platforms)});
  return Common(std::vector<SharedPlatforms>{image});
}

TEST(NarrowingTest, TheRequirementBecomesTheIntersection) {
  struct Row {
    const char* name;
    Pod pod;
    CommonPlatforms before;
    CommonPlatforms now;
    const char* terms;
    RequirementResult result;
    ArchitectureSet architectures;
    const char* labels;
  };
  const ArchitectureSet both = {"amd64", "arm64"};
  const RequirementResult kept = RequirementResult::kKept, set = RequirementResult::kSet,
                          nowhere = RequirementResult::kNowhere;
  Row rows[] = {
      {"the same", MakePod("web"), both, both, "arch In amd64 arm64", kept, both,
       "amd64 arm64 multi-arch node-affinity "},
      {"more", MakePod("web"), both, ArchitectureSet{"amd64", "arm64", "s390x"},
       "arch In amd64 arm64", kept, both, "amd64 arm64 multi-arch node-affinity "},
      {"less",
       MakePod("web"),
       both,
       ArchitectureSet{"arm64"},
       "arch In amd64 arm64 & arch In arm64",
       set,
       {"arm64"},
       "arm64 node-affinity single-arch "},
      {"others too",
       MakePod("web"),
       both,
       ArchitectureSet{"amd64", "s390x"},
       "arch In amd64 arm64 & arch In amd64",
       set,
       {"amd64"},
       "amd64 node-affinity single-arch "},
      {"nothing in common",
       MakePod("web"),
       both,
       ArchitectureSet{"s390x"},
       "arch In amd64 arm64 & no-supported-arch Exists",
       nowhere,
       {},
       "no-supported-arch node-affinity "},
      {"nothing at all",
       MakePod("web"),
       both,
       CommonPlatforms(),
       "arch In amd64 arm64 & no-supported-arch Exists",
       nowhere,
       {},
       "no-supported-arch node-affinity "},
      {"a term with an architecture of the user's own that the images do not have",
       MakePod("web")
           .Requires("kubernetes.io/arch", "In", {"s390x"})
           .Requires("zone", "In", {"a"})
           .Requires("kubernetes.io/arch", "NotIn", {"amd64"}),
       both,
       ArchitectureSet{"arm64"},
       "arch In s390x | zone In a & arch In amd64 arm64 & arch In arm64 | arch NotIn amd64",
       set,
       {"arm64"},
       "arm64 node-affinity single-arch "},
      {"several terms",
       MakePod("web").Requires("zone", "In", {"a"}).Requires("zone", "In", {"b"}),
       both,
       ArchitectureSet{"amd64"},
       "zone In a & arch In amd64 arm64 & arch In amd64 | zone In b & arch In amd64 arm64 & arch "
       "In amd64",
       set,
       {"amd64"},
       "amd64 node-affinity single-arch "},
      {"another system than before",
       MakePod("web"),
       both,
       Images({{"windows", "amd64", "1.2.3"}}),
       "arch In amd64 arm64 & arch In amd64 & os In windows & windows-build In 1.2.3",
       set,
       {"amd64"},
       "amd64 node-affinity single-arch "},
      {"not the system that was required",
       MakePod("web"),
       Images({{"windows", "amd64"}}),
       ArchitectureSet{"amd64"},
       "arch In amd64 & os In windows & no-supported-arch Exists",
       nowhere,
       {},
       "no-supported-arch node-affinity "},
      {"the same build of Windows",
       MakePod("web"),
       Images({{"windows", "amd64", "1"}}),
       Images({{"windows", "amd64", "1"}}),
       "arch In amd64 & os In windows & windows-build In 1",
       kept,
       {"amd64"},
       "amd64 node-affinity single-arch "},
      {"another build of Windows",
       MakePod("web"),
       Images({{"windows", "amd64", "1"}}),
       Images({{"windows", "amd64", "2"}}),
       "arch In amd64 & os In windows & windows-build In 1 & no-supported-arch Exists",
       nowhere,
       {},
       "no-supported-arch node-affinity "},
      {"fewer builds of Windows",
       MakePod("web"),
       Images({{"windows", "amd64", "1"}, {"windows", "amd64", "2"}}),
       Images({{"windows", "amd64", "2"}, {"windows", "amd64", "3"}}),
       "arch In amd64 & os In windows & windows-build In 1 2 & windows-build In 2",
       set,
       {"amd64"},
       "amd64 node-affinity single-arch "},
      {"no build of Windows any more",
       MakePod("web"),
       Images({{"windows", "amd64", "1"}}),
       Images({{"windows", "amd64"}}),
       "arch In amd64 & os In windows & windows-build In 1",
       kept,
       {"amd64"},
       "amd64 node-affinity single-arch "},
      {"images that run nowhere",
       MakePod("web"),
       CommonPlatforms(),
       both,
       "no-supported-arch Exists",
       kept,
       {},
       "no-supported-arch node-affinity "},
      {"an architecture in the node selector",
       MakePod("web").NodeSelector("kubernetes.io/arch", "arm64"),
       both,
       ArchitectureSet{"amd64"},
       "",
       kept,
       {},
       "node-affinity "},
  };
  for (Row& row : rows) {
    ApplyRequirement(row.pod, row.before);
    ArchitectureSet before = RequiredBefore(row.pod);
    Requirement required = NarrowRequirement(row.pod, row.now);
    EXPECT_EQ(TermsOf(row.pod), row.terms) << row.name;
    EXPECT_EQ(required.result, row.result) << row.name;
    EXPECT_EQ(LabelsOf(row.pod), row.labels) << row.name;
    EXPECT_EQ(required.architectures, row.architectures) << row.name;
    if (row.result != RequirementResult::kKept) continue;
    EXPECT_EQ(before, row.architectures) << row.name;
  }
}

// Whatever it becomes, each term starts with what it was: the API server refuses anything else.
TEST(NarrowingTest, TermsOnlyGetLonger) {
  const std::vector<CommonPlatforms> all = {
      ArchitectureSet{"amd64"}, ArchitectureSet{"amd64", "arm64"}, CommonPlatforms(),
      Images({{"windows", "amd64", "1"}}), Images({{"windows", "amd64"}, {"linux", "arm64"}})};
  for (const CommonPlatforms& before : all) {
    for (const CommonPlatforms& now : all) {
      Pod pod = MakePod("web")
                    .Requires("zone", "In", {"a"})
                    .Requires("kubernetes.io/os", "In", {"windows"})
                    .Requires("kubernetes.io/arch", "In", {"amd64"});
      ApplyRequirement(pod, before);
      Pod old = pod;
      NarrowRequirement(pod, now);
      const auto& terms = pod.spec()
                              .affinity()
                              .node_affinity()
                              .required_during_scheduling_ignored_during_execution()
                              .node_selector_terms();
      const auto& old_terms = old.spec()
                                  .affinity()
                                  .node_affinity()
                                  .required_during_scheduling_ignored_during_execution()
                                  .node_selector_terms();
      ASSERT_EQ(terms.size(), old_terms.size());
      for (int i = 0; i < terms.size(); ++i) {
        ASSERT_GE(terms[i].match_expressions_size(), old_terms[i].match_expressions_size());
        for (int j = 0; j < old_terms[i].match_expressions_size(); ++j) {
          EXPECT_EQ(terms[i].match_expressions(j).SerializeAsString(),
                    old_terms[i].match_expressions(j).SerializeAsString());
        }
      }
    }
  }
}

TEST(NarrowingTest, ALevelOfX8664IsOnlyRaised) {
  auto images = [](int level, bool arm64) {
    std::vector<Platform> platforms = {{"linux", "amd64", "", level}};
    if (arm64) platforms.push_back({"linux", "arm64"});
    return Images(platforms);
  };
  struct Row {
    const char* name;
    CommonPlatforms before;
    CommonPlatforms now;
    const char* terms;
    RequirementResult result;
  };
  const RequirementResult kept = RequirementResult::kKept, set = RequirementResult::kSet;
  const Row kRows[] = {
      {"the same", images(3, true), images(3, true),
       "arch In arm64 | arch In amd64 & cpu-cpuid.X86_64_V3 Exists", kept},
      {"lower", images(3, false), images(0, false), "arch In amd64 & cpu-cpuid.X86_64_V3 Exists",
       kept},
      {"higher", images(3, true), images(4, true),
       "arch In arm64 | arch In amd64 & cpu-cpuid.X86_64_V3 Exists & cpu-cpuid.X86_64_V4 Exists",
       set},
      {"higher in one term", images(0, true), images(3, true),
       "arch In amd64 arm64 & arch In arm64", set},
      {"higher, alone", images(0, false), images(3, false),
       "arch In amd64 & cpu-cpuid.X86_64_V3 Exists", set},
  };
  for (const Row& row : kRows) {
    Pod pod = MakePod("web");
    ApplyRequirement(pod, row.before);
    EXPECT_EQ(NarrowRequirement(pod, row.now).result, row.result) << row.name;
    EXPECT_EQ(TermsOf(pod), row.terms) << row.name;
  }
}

// The labels and the terms may be the author's.
TEST(NarrowingTest, OnlyWhatTheLabelsNameIsTakenForTheRequirement) {
  Pod no_label = MakePod("web").Requires("kubernetes.io/arch", "In", {"amd64"});
  EXPECT_TRUE(RequiredBefore(no_label).empty());
  SetLabel(no_label, api::kNodeAffinityLabel, api::kSet);
  EXPECT_TRUE(RequiredBefore(no_label).empty());
  EXPECT_EQ(NarrowRequirement(no_label, ArchitectureSet{"arm64"}).result, RequirementResult::kKept);
  EXPECT_EQ(TermsOf(no_label), "arch In amd64");

  Pod hostile = MakePod("web")
                    .Label(api::kNodeAffinityLabel, api::kSet)
                    .Label("multiarch.openshift.io/a-b", "")
                    .Requires("kubernetes.io/arch", "In", {"a-b"})
                    .Requires("kubernetes.io/arch", "In")
                    .Requires("kubernetes.io/arch", "Exists");
  EXPECT_TRUE(RequiredBefore(hostile).empty());
  EXPECT_TRUE(RequiredBefore(Pod()).empty());
}

TEST(NarrowingTest, ManyTermsAreNotMultipliedByWhatImagesSay) {
  CommonPlatforms windows;
  windows.by_os["windows"] = {"amd64"};
  for (int i = 0; i < 1000; ++i) windows.windows_builds.insert("10.0." + std::to_string(i));
  Pod pod = MakePod("web");
  ApplyRequirement(pod, ArchitectureSet{"amd64"});
  auto& terms = *pod.mutable_spec()
                     ->mutable_affinity()
                     ->mutable_node_affinity()
                     ->mutable_required_during_scheduling_ignored_during_execution()
                     ->mutable_node_selector_terms();
  const auto term = terms[0];
  for (int i = 0; i < 1000; ++i) *terms.Add() = term;
  std::string before = pod.SerializeAsString();
  Requirement required = NarrowRequirement(pod, windows);
  EXPECT_EQ(required.result, RequirementResult::kTooLarge);
  EXPECT_EQ(required.architectures, ArchitectureSet{"amd64"});
  EXPECT_EQ(pod.SerializeAsString().size(), before.size());
}

}  // namespace
}  // namespace placement
