// SPDX-License-Identifier: Apache-2.0
#include "placement/requirement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/amd64_levels.h"
#include "api/names.h"
#include "placement/pod_metadata.h"

namespace placement {
namespace {

using kube::core::NodeSelectorRequirement;
using kube::core::NodeSelectorTerm;
using kube::core::Pod;

// Terms as text: terms are separated by "|", expressions by "&", fields have a "@" in front: "zone
// In a & @name In n".
void Write(google::protobuf::RepeatedPtrField<NodeSelectorRequirement>* out,
           std::string_view text) {
  NodeSelectorRequirement& requirement = *out->Add();
  int word_index = 0;
  while (!text.empty()) {
    std::string word(text.substr(0, text.find(' ')));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (word.empty()) continue;
    if (word_index == 0) requirement.set_key(word);
    if (word_index == 1) requirement.set_operator_(word);
    if (word_index >= 2) requirement.add_values(word);
    ++word_index;
  }
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    std::string_view part = text.substr(0, text.find(separator));
    parts.push_back(part);
    if (part.size() == text.size()) return parts;
    text.remove_prefix(part.size() + 1);
  }
}

std::string_view Trim(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

Pod PodWithTerms(std::string_view terms) {
  Pod pod;
  auto& selector = *pod.mutable_spec()
                        ->mutable_affinity()
                        ->mutable_node_affinity()
                        ->mutable_required_during_scheduling_ignored_during_execution();
  for (std::string_view text : Split(terms, '|')) {
    NodeSelectorTerm& term = *selector.add_node_selector_terms();
    for (std::string_view expression : Split(text, '&')) {
      expression = Trim(expression);
      if (expression.empty()) continue;
      if (expression.starts_with('@')) {
        Write(term.mutable_match_fields(), expression.substr(1));
      } else {
        Write(term.mutable_match_expressions(), expression);
      }
    }
  }
  return pod;
}

std::string Text(const NodeSelectorRequirement& requirement) {
  std::string text = requirement.key() + " " + requirement.operator_();
  for (auto& value : requirement.values()) text += " " + value;
  return text;
}

std::string TermsOf(const Pod& pod) {
  std::string text;
  auto& terms = pod.spec()
                    .affinity()
                    .node_affinity()
                    .required_during_scheduling_ignored_during_execution()
                    .node_selector_terms();
  for (int i = 0; i < terms.size(); ++i) {
    if (i > 0) text += " | ";
    bool first = true;
    for (auto& field : terms[i].match_fields())
      text += std::exchange(first, false) ? "@" + Text(field) : " & @" + Text(field);
    for (auto& expression : terms[i].match_expressions()) {
      text += std::exchange(first, false) ? Text(expression) : " & " + Text(expression);
    }
  }
  return text;
}

std::string LabelsOf(const Pod& pod) {
  std::map<std::string, std::string> sorted(pod.metadata().labels().begin(),
                                            pod.metadata().labels().end());
  std::string text;
  for (auto& [key, value] : sorted) {
    text += (text.empty() ? "" : " ") + key.substr(api::kLabelPrefix.size()) + "=" + value;
  }
  return text;
}

const ArchitectureSet kTwo = {"amd64", "arm64"};
const std::string kExpression = "kubernetes.io/arch In amd64 arm64";

struct Case {
  std::string name;
  std::string before;
  std::string after;
  RequirementResult result = RequirementResult::kSet;
};

TEST(RequirementTest, FollowsTheRulesForEachTerm) {
  const Case cases[] = {
      {"one term", "zone In a", "zone In a & " + kExpression},
      {"several terms", "zone In a | disk In ssd",
       "zone In a & " + kExpression + " | disk In ssd & " + kExpression},
      {"only matchFields", "@metadata.name In n", "@metadata.name In n & " + kExpression},
      {"fields and expressions", "@metadata.name In n & zone In a",
       "@metadata.name In n & zone In a & " + kExpression},
      {"one term has it", "zone In a | kubernetes.io/arch In s390x",
       "zone In a & " + kExpression + " | kubernetes.io/arch In s390x"},
      {"a null term matches nothing and stays so", " | zone In a", " | zone In a & " + kExpression},
      {"only null terms", " | ", " | ", RequirementResult::kConflict},
      {"In", "kubernetes.io/arch In s390x", "kubernetes.io/arch In s390x",
       RequirementResult::kConflict},
      {"NotIn", "kubernetes.io/arch NotIn s390x", "kubernetes.io/arch NotIn s390x",
       RequirementResult::kConflict},
      {"Exists", "kubernetes.io/arch Exists", "kubernetes.io/arch Exists",
       RequirementResult::kConflict},
      {"DoesNotExist", "kubernetes.io/arch DoesNotExist", "kubernetes.io/arch DoesNotExist",
       RequirementResult::kConflict},
      {"beside others", "zone In a & kubernetes.io/arch In s390x",
       "zone In a & kubernetes.io/arch In s390x", RequirementResult::kConflict},
      {"a field of that name is no label", "@kubernetes.io/arch In x",
       "@kubernetes.io/arch In x & " + kExpression},
  };
  for (const Case& c : cases) {
    Pod pod = PodWithTerms(c.before);
    EXPECT_EQ(NeedsRequirement(pod), c.result == RequirementResult::kSet) << c.name;
    EXPECT_EQ(ApplyRequirement(pod, kTwo).result, c.result) << c.name;
    EXPECT_EQ(TermsOf(pod), c.after) << c.name;
    EXPECT_EQ(LabelsOf(pod), c.result == RequirementResult::kSet
                                 ? "amd64= arm64= multi-arch= node-affinity=set"
                                 : "node-affinity=not-set")
        << c.name;
    EXPECT_FALSE(NeedsRequirement(pod)) << c.name;
  }
}

TEST(RequirementTest, APodWithoutTermsGetsOne) {
  Pod bare, affinity, empty_selector;
  affinity.mutable_spec()->mutable_affinity();
  empty_selector.mutable_spec()
      ->mutable_affinity()
      ->mutable_node_affinity()
      ->mutable_required_during_scheduling_ignored_during_execution();
  for (Pod* pod : {&bare, &affinity, &empty_selector}) {
    EXPECT_TRUE(NeedsRequirement(*pod));
    EXPECT_EQ(ApplyRequirement(*pod, ArchitectureSet{"s390x"}).result, RequirementResult::kSet);
    EXPECT_EQ(TermsOf(*pod), "kubernetes.io/arch In s390x");
    EXPECT_EQ(LabelsOf(*pod), "node-affinity=set s390x= single-arch=");
  }
}

TEST(RequirementTest, TheNodeSelectorTakesPrecedence) {
  Pod pod = PodWithTerms("zone In a");
  (*pod.mutable_spec()->mutable_node_selector())["kubernetes.io/arch"] = "s390x";
  EXPECT_FALSE(NeedsRequirement(pod));
  EXPECT_EQ(ApplyRequirement(pod, kTwo).result, RequirementResult::kConflict);
  EXPECT_EQ(TermsOf(pod), "zone In a");
  EXPECT_EQ(LabelsOf(pod), "node-affinity=not-set");
}

TEST(RequirementTest, OtherNodeSelectorsDoNotMatter) {
  Pod pod;
  (*pod.mutable_spec()->mutable_node_selector())["kubernetes.io/os"] = "linux";
  EXPECT_EQ(ApplyRequirement(pod, kTwo).result, RequirementResult::kSet);
}

CommonPlatforms On(std::map<std::string, ArchitectureSet> by_os,
                   std::set<std::string> windows_builds = {}) {
  CommonPlatforms common;
  common.by_os = std::move(by_os);
  common.windows_builds = std::move(windows_builds);
  return common;
}

// Each row with three kinds of images: for both systems, for linux, for windows.
TEST(RequirementTest, TheOperatingSystemOfATermDecidesItsArchitectures) {
  const CommonPlatforms both = On({{"linux", {"amd64", "arm64"}}, {"windows", {"amd64"}}});
  const CommonPlatforms linux = On({{"linux", {"amd64", "arm64"}}});
  const CommonPlatforms windows = On({{"windows", {"amd64"}}});
  const std::string arch = "kubernetes.io/arch In ", os = "kubernetes.io/os ";
  const std::string nowhere = "multiarch.openshift.io/no-supported-arch Exists";
  const std::string two = arch + "amd64 arm64", one = arch + "amd64";
  struct Row {
    const char* name;
    std::string before;
    const CommonPlatforms& images;
    std::string added;
  };
  const Row rows[] = {
      {"linux by default", "zone In a", both, two},
      {"linux by default", "zone In a", linux, two},
      {"images of one other system", "zone In a", windows, one + " & " + os + "In windows"},
      {"not windows", os + "NotIn windows", both, two},
      {"not windows", os + "NotIn windows", windows, nowhere},
      {"not linux", os + "NotIn linux", both, one + " & " + os + "In windows"},
      {"any", os + "Exists", linux, two},
      {"any", os + "Exists", windows, one + " & " + os + "In windows"},
      {"windows", os + "In windows", both, one},
      {"windows", os + "In windows", windows, one},
      {"windows", os + "In windows", linux, nowhere},
      {"both", os + "In linux windows", both, one},
      {"both", os + "In linux windows", linux, two + " & " + os + "In linux"},
      {"both", os + "In linux windows", windows, one + " & " + os + "In windows"},
      {"one of both", os + "In linux windows & " + os + "NotIn linux", both,
       one + " & " + os + "In windows"},
      {"a contradiction", os + "In linux & " + os + "In windows", both, nowhere},
      {"no label", os + "DoesNotExist", both, nowhere},
      {"a comparison", os + "Gt 1", both, nowhere},
      {"an unknown system", os + "In plan9", both, nowhere},
  };
  for (const Row& row : rows) {
    Pod pod = PodWithTerms(row.before);
    Requirement got = ApplyRequirement(pod, row.images);
    EXPECT_EQ(TermsOf(pod), row.before + " & " + row.added) << row.name;
    EXPECT_EQ(got.result,
              row.added == nowhere ? RequirementResult::kNowhere : RequirementResult::kSet)
        << row.name;
  }
}

TEST(RequirementTest, NodeSelectorAndSpecNameTheOperatingSystemToo) {
  const CommonPlatforms both = On({{"linux", {"arm64"}}, {"windows", {"amd64"}}});
  Pod selector, spec, contradiction, empty;
  (*selector.mutable_spec()->mutable_node_selector())["kubernetes.io/os"] = "windows";
  spec.mutable_spec()->mutable_os()->set_name("windows");
  for (Pod* pod : {&selector, &spec}) {
    EXPECT_EQ(ApplyRequirement(*pod, both).result, RequirementResult::kSet);
    // The scheduler does not read spec.os.
    EXPECT_EQ(TermsOf(*pod), pod == &spec
                                 ? "kubernetes.io/arch In amd64 & kubernetes.io/os In windows"
                                 : "kubernetes.io/arch In amd64");
    EXPECT_EQ(LabelsOf(*pod), "amd64= node-affinity=set single-arch=");
  }
  contradiction = selector;
  contradiction.mutable_spec()->clear_affinity();
  contradiction.mutable_spec()->mutable_os()->set_name("linux");
  contradiction.clear_metadata();
  EXPECT_EQ(ApplyRequirement(contradiction, both).result, RequirementResult::kNowhere);
}

TEST(RequirementTest, EachTermHasItsOwnOperatingSystem) {
  Pod pod = PodWithTerms("kubernetes.io/os In windows | zone In a | kubernetes.io/os In plan9");
  Requirement got =
      ApplyRequirement(pod, On({{"linux", {"arm64", "s390x"}}, {"windows", {"amd64"}}}));
  EXPECT_EQ(got.result, RequirementResult::kSet);
  EXPECT_EQ(got.architectures, (ArchitectureSet{"amd64", "arm64", "s390x"}));
  EXPECT_TRUE(got.operating_systems.empty());
  EXPECT_EQ(TermsOf(pod),
            "kubernetes.io/os In windows & kubernetes.io/arch In amd64 | "
            "zone In a & kubernetes.io/arch In arm64 s390x | "
            "kubernetes.io/os In plan9 & multiarch.openshift.io/no-supported-arch Exists");
  EXPECT_EQ(LabelsOf(pod), "amd64= arm64= multi-arch= node-affinity=set s390x=");
}

TEST(RequirementTest, DifferentArchitecturesOfTwoSystemsAreNotMixed) {
  Pod pod = PodWithTerms("kubernetes.io/os In linux windows");
  Requirement got = ApplyRequirement(pod, On({{"linux", {"arm64"}}, {"windows", {"amd64"}}}));
  EXPECT_EQ(got.operating_systems, std::set<std::string>{"linux"});
  EXPECT_EQ(TermsOf(pod),
            "kubernetes.io/os In linux windows & kubernetes.io/arch In arm64 & "
            "kubernetes.io/os In linux");
}

TEST(RequirementTest, WindowsNodesHaveTheBuildOfTheImages) {
  const CommonPlatforms images =
      On({{"linux", {"amd64"}}, {"windows", {"amd64"}}}, {"10.0.17763", "10.0.20348"});
  const std::string build = "node.kubernetes.io/windows-build In 10.0.17763 10.0.20348";
  Pod windows = PodWithTerms("kubernetes.io/os In windows");
  ApplyRequirement(windows, images);
  EXPECT_EQ(TermsOf(windows),
            "kubernetes.io/os In windows & kubernetes.io/arch In amd64 & " + build);
  Pod linux = PodWithTerms("zone In a | kubernetes.io/os In linux windows");
  ApplyRequirement(linux, images);
  EXPECT_EQ(TermsOf(linux).find("windows-build"), std::string::npos);

  // The user's own choice.
  Pod term = PodWithTerms("kubernetes.io/os In windows & node.kubernetes.io/windows-build In x");
  Pod selector = PodWithTerms("kubernetes.io/os In windows");
  (*selector.mutable_spec()->mutable_node_selector())["node.kubernetes.io/windows-build"] = "x";
  for (Pod* pod : {&term, &selector}) {
    ApplyRequirement(*pod, images);
    EXPECT_EQ(TermsOf(*pod).find("10.0."), std::string::npos);
  }
}

TEST(RequirementTest, NodesOfAmd64HaveTheLevelOfTheImages) {
  CommonPlatforms both = kTwo, one = ArchitectureSet{"amd64"},
                  windows = On({{"windows", {"amd64"}}});
  for (CommonPlatforms* images : {&both, &one, &windows}) images->amd64_level = 3;
  const std::string level = "feature.node.kubernetes.io/cpu-cpuid.X86_64_V3 Exists";
  const std::string amd64 = "kubernetes.io/arch In amd64 & " + level;

  Pod own_terms;
  Requirement required = ApplyRequirement(own_terms, both);
  EXPECT_EQ(TermsOf(own_terms), "kubernetes.io/arch In arm64 | " + amd64);
  EXPECT_EQ(required.architectures, kTwo);
  EXPECT_EQ(required.amd64_level, 3);
  EXPECT_EQ(LabelsOf(own_terms), "amd64= arm64= multi-arch= node-affinity=set");
  Pod own_term;
  ApplyRequirement(own_term, one);
  EXPECT_EQ(TermsOf(own_term), amd64);

  // No term can be added to those of the user.
  Pod terms = PodWithTerms("zone In a | zone In b & kubernetes.io/arch In amd64");
  required = ApplyRequirement(terms, both);
  EXPECT_EQ(TermsOf(terms),
            "zone In a & kubernetes.io/arch In arm64 | zone In b & kubernetes.io/arch In amd64");
  EXPECT_EQ(required.architectures, ArchitectureSet{"arm64"});
  EXPECT_EQ(required.amd64_level, 0);
  EXPECT_TRUE(required.amd64_left_out);
  Pod term = PodWithTerms("zone In a");
  ApplyRequirement(term, one);
  EXPECT_EQ(TermsOf(term), "zone In a & " + amd64);

  // The user's own choice of a level that is high enough.
  Pod higher = PodWithTerms("feature.node.kubernetes.io/cpu-cpuid.X86_64_V4 In true");
  Pod selector = PodWithTerms("zone In a");
  (*selector.mutable_spec()->mutable_node_selector())[api::Amd64LevelLabel(3)] = "true";
  for (Pod* pod : {&higher, &selector}) {
    required = ApplyRequirement(*pod, both);
    EXPECT_THAT(TermsOf(*pod), testing::EndsWith("kubernetes.io/arch In amd64 arm64"));
    EXPECT_FALSE(required.amd64_left_out);
  }
  Pod lower = PodWithTerms("feature.node.kubernetes.io/cpu-cpuid.X86_64_V2 Exists");
  ApplyRequirement(lower, one);
  EXPECT_THAT(TermsOf(lower), testing::EndsWith(amd64));

  Pod on_windows = PodWithTerms("kubernetes.io/os In windows");
  EXPECT_EQ(ApplyRequirement(on_windows, windows).amd64_level, 0);
}

// Images may name very many systems, and pods have very many terms.
TEST(RequirementTest, AdditionsAreBounded) {
  std::map<std::string, ArchitectureSet> by_os;
  for (int i = 0; i < 64; ++i)
    by_os["os" + std::string(28, 'x') + std::to_string(10 + i)] = {"amd64"};
  Pod one;
  Requirement got = ApplyRequirement(one, On(by_os));
  EXPECT_EQ(got.result, RequirementResult::kSet);
  EXPECT_EQ(got.operating_systems.size(), 8u);

  std::string terms = "zone In a";
  for (int i = 1; i < 20'000; ++i) terms += "|zone In a";
  Pod many = PodWithTerms(terms);
  size_t before = many.ByteSizeLong();
  EXPECT_EQ(ApplyRequirement(many, On(by_os)).result, RequirementResult::kTooLarge);
  EXPECT_LT(many.ByteSizeLong(), before + 200);
  EXPECT_EQ(LabelsOf(many), "node-affinity=not-set");
  Pod fallback = PodWithTerms(terms);
  EXPECT_EQ(ApplyFallback(fallback, "amd64"), RequirementResult::kTooLarge);
  Pod fewer = PodWithTerms(terms.substr(0, 10'000));
  EXPECT_EQ(ApplyRequirement(fewer, kTwo).result, RequirementResult::kSet);
}

TEST(RequirementTest, OperatingSystemsOfImagesAreNotTrusted) {
  Pod pod;
  Requirement got =
      ApplyRequirement(pod, On({{"a b", {"amd64"}}, {std::string(64, 'x'), {"arm64"}}}));
  EXPECT_EQ(got.result, RequirementResult::kNowhere);
}

TEST(RequirementTest, ImagesThatNeverRunRequireAnArchitectureOnly) {
  CommonPlatforms every;
  every.every = true;
  for (const char* terms : {"zone In a", "kubernetes.io/os In windows"}) {
    Pod pod = PodWithTerms(terms);
    EXPECT_EQ(ApplyRequirement(pod, every).result, RequirementResult::kSet);
    EXPECT_EQ(TermsOf(pod),
              std::string(terms) + " & kubernetes.io/arch In amd64 arm64 ppc64le s390x");
  }
}

TEST(RequirementTest, ApplyingTwiceIsApplyingOnce) {
  for (const ArchitectureSet& architectures : {kTwo, ArchitectureSet{}}) {
    Pod pod = PodWithTerms("zone In a | disk In ssd");
    ApplyRequirement(pod, architectures);
    std::string terms = TermsOf(pod), labels = LabelsOf(pod);
    EXPECT_EQ(ApplyRequirement(pod, architectures).result, RequirementResult::kKept);
    EXPECT_EQ(TermsOf(pod), terms);
    EXPECT_EQ(LabelsOf(pod), labels);
  }
}

TEST(RequirementTest, NoCommonArchitectureRequiresWhatNoNodeHas) {
  Pod pod = PodWithTerms("zone In a | kubernetes.io/arch In s390x");
  EXPECT_EQ(ApplyRequirement(pod, CommonPlatforms()).result, RequirementResult::kNowhere);
  EXPECT_EQ(
      TermsOf(pod),
      "zone In a & multiarch.openshift.io/no-supported-arch Exists | kubernetes.io/arch In s390x");
  EXPECT_EQ(LabelsOf(pod), "no-supported-arch= node-affinity=set");
}

TEST(RequirementTest, ArchitectureNamesOfImagesAreNotTrusted) {
  Pod pod;
  ArchitectureSet hostile = {"",    "scheduling-gate", "a b",  std::string(64, 'a'),
                             "ARM", "amd64/../x",      "amd64"};
  for (int i = 0; i < 100; ++i) hostile.insert("zz" + std::to_string(i));
  EXPECT_EQ(ApplyRequirement(pod, hostile).result, RequirementResult::kSet);
  EXPECT_EQ(pod.metadata().labels().size(), 32u + 2);
  EXPECT_TRUE(pod.metadata().labels().contains("multiarch.openshift.io/amd64"));
  EXPECT_FALSE(pod.metadata().labels().contains("multiarch.openshift.io/scheduling-gate"));

  Pod nothing;
  EXPECT_EQ(ApplyRequirement(nothing, ArchitectureSet{"", "a b"}).result,
            RequirementResult::kNowhere);
}

TEST(RequirementTest, TheFallbackHasALabel) {
  Pod pod = PodWithTerms("zone In a");
  EXPECT_EQ(ApplyFallback(pod, "amd64"), RequirementResult::kSet);
  EXPECT_EQ(TermsOf(pod), "zone In a & kubernetes.io/arch In amd64");
  EXPECT_EQ(LabelsOf(pod), "fallback-arch=amd64 node-affinity=set");

  Pod own = PodWithTerms("kubernetes.io/arch In arm64");
  EXPECT_EQ(ApplyFallback(own, "amd64"), RequirementResult::kConflict);
  EXPECT_EQ(LabelsOf(own), "node-affinity=not-set");
}

TEST(RequirementTest, CountsFailedInspections) {
  Pod pod;
  EXPECT_EQ(InspectionTries(pod, 5), 0);
  ApplyInspectionError(pod, std::string(255, 'x') + "é", 2);
  EXPECT_EQ(LabelsOf(pod), "image-inspect-error= image-inspect-error-count=2");
  EXPECT_EQ(AnnotationOf(pod, api::kInspectErrorAnnotation), std::string(255, 'x'));
  EXPECT_EQ(InspectionTries(pod, 5), 2);
  ApplyInspectionError(pod, std::string(256, 'y') + "z", 2);
  EXPECT_EQ(AnnotationOf(pod, api::kInspectErrorAnnotation), std::string(256, 'y'));
  ClearInspectionError(pod);
  EXPECT_EQ(LabelsOf(pod), "image-inspect-error-count=2");
  EXPECT_TRUE(pod.metadata().annotations().empty());
  for (const char* nonsense : {"", "x", "-3", "-99999999999", "2x", "99999999999x"}) {
    SetLabel(pod, api::kInspectErrorCountLabel, nonsense);
    EXPECT_EQ(InspectionTries(pod, 5), 0) << nonsense;
  }
  for (const char* many : {"5", "6", "2147483647", "99999999999"}) {
    SetLabel(pod, api::kInspectErrorCountLabel, many);
    EXPECT_EQ(InspectionTries(pod, 5), 5) << many;
  }
}

}  // namespace
}  // namespace placement
