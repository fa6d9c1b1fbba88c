// SPDX-License-Identifier: Apache-2.0
// I5: a required term with an architecture of the pod's author stays as it is while the pod awaits
// the gates of other controllers, and when its images are inspected again, whatever its other terms
// get. The terms of each pod are one of all lists of up to three kinds of terms.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/architecture_tolerations.h"
#include "api/names.h"
#include "kube/testing/make_pod.h"
#include "placement/gate.h"
#include "placement/platforms.h"
#include "placement/release.h"
#include "placement/term_addition.h"

namespace placement {
namespace {

using kube::MakePod;
using kube::core::NodeSelectorRequirement;
using kube::core::NodeSelectorTerm;
using kube::core::Pod;

constexpr char kKueue[] = "kueue.x-k8s.io/admission";
const std::string kArch(api::kArchLabel);
const api::ArchitectureTolerations kTolerations{.enabled = true};

struct Expression {
  std::string key;
  std::string op;
  std::vector<std::string> values = {};
};

struct Kind {
  // The author says which architectures, or that no node matches.
  bool own;
  std::vector<Expression> expressions;
};

const Kind kKinds[] = {
    {.own = false, .expressions = {{"zone", "In", {"a"}}}},
    {.own = true, .expressions = {{kArch, "In", {"arm64"}}}},
    // As if the requirement had been appended.
    {.own = true, .expressions = {{"zone", "In", {"b"}}, {kArch, "In", {"amd64", "arm64"}}}},
    {.own = true, .expressions = {{kArch, "In", {"amd64"}}, {"zone", "In", {"c"}}}},
    {.own = true, .expressions = {{kArch, "In", {"s390x"}}}},
    {.own = true, .expressions = {{kArch, "NotIn", {"arm64"}}}},
    {.own = true, .expressions = {}},
};

// Of the last inspection, after one that found amd64 and arm64.
struct Last {
  const char* name;
  std::optional<CommonPlatforms> platforms;
  // What the terms get that have no architecture of the author.
  const char* appended;
  std::vector<std::string> architectures;
};

const Last kLast[] = {
    {"the same", ArchitectureSet{"amd64", "arm64"}, "", {"amd64", "arm64"}},
    {"more", ArchitectureSet{"amd64", "arm64", "s390x"}, "", {"amd64", "arm64"}},
    {"less", ArchitectureSet{"arm64"}, " & kubernetes.io/arch In arm64", {"arm64"}},
    {"others", ArchitectureSet{"s390x"}, " & multiarch.openshift.io/no-supported-arch Exists", {}},
    {"failed", std::nullopt, "", {"amd64", "arm64"}},
};

// Expressions are separated by " & ".
std::string Text(const NodeSelectorTerm& term) {
  std::string text;
  for (const NodeSelectorRequirement& expression : term.match_expressions()) {
    if (!text.empty()) text += " & ";
    text += expression.key() + " " + expression.operator_();
    for (const std::string& value : expression.values()) text += " " + value;
  }
  return text;
}

std::vector<std::string> TermsOf(const Pod& pod) {
  std::vector<std::string> texts;
  for (const NodeSelectorTerm& term : RequiredTermsOf(pod)) texts.push_back(Text(term));
  return texts;
}

std::vector<std::string> Tolerated(const Pod& pod) {
  std::vector<std::string> values;
  for (const auto& toleration : pod.spec().tolerations()) values.push_back(toleration.value());
  return values;
}

// Those of `all` that the labels of the pod name.
std::vector<std::string> Labelled(const Pod& pod, const std::vector<std::string>& all) {
  std::vector<std::string> found;
  for (const std::string& name : all) {
    if (pod.metadata().labels().contains(std::string(api::kLabelPrefix) + name))
      found.push_back(name);
  }
  return found;
}

Pod PodOf(const std::vector<const Kind*>& kinds) {
  Pod pod = MakePod("web")
                .Image("a:1")
                .Gate(api::kClusterGate)
                .Gate(kKueue)
                .Label(api::kNodeAffinityLabel, api::kNotSet);
  if (kinds.empty()) return pod;
  auto& required = *pod.mutable_spec()
                        ->mutable_affinity()
                        ->mutable_node_affinity()
                        ->mutable_required_during_scheduling_ignored_during_execution();
  for (const Kind* kind : kinds) {
    NodeSelectorTerm& term = *required.add_node_selector_terms();
    for (const Expression& expression : kind->expressions) {
      NodeSelectorRequirement& added = *term.add_match_expressions();
      added.set_key(expression.key);
      added.set_operator_(expression.op);
      for (const std::string& value : expression.values) added.add_values(value);
    }
  }
  return pod;
}

void ExpectOwnTermsStay(const std::vector<const Kind*>& kinds, const Last& last) {
  Pod pod = PodOf(kinds);
  std::vector<std::string> first = TermsOf(pod), second;
  std::string row = last.name;
  for (const std::string& term : first) row += " | " + term;
  SCOPED_TRACE(row);

  const std::string required = "kubernetes.io/arch In amd64 arm64";
  bool any = kinds.empty();
  if (any) first.push_back(required);
  second = first;
  if (any) second[0] += last.appended;
  for (size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i]->own) continue;
    any = true;
    first[i] += " & " + required;
    second[i] = first[i] + last.appended;
  }

  ReleaseCluster(pod, {.cluster_tolerations = &kTolerations,
                       .platforms = ArchitectureSet{"amd64", "arm64"},
                       .await_other_gates = true});
  EXPECT_EQ(TermsOf(pod), first);
  DropGate(pod, kKueue);
  ReleaseCluster(pod, {.cluster_tolerations = &kTolerations,
                       .platforms = last.platforms,
                       .inspection_error = "503"});
  EXPECT_EQ(TermsOf(pod), second);
  EXPECT_EQ(pod.spec().scheduling_gates_size(), 0);
  std::vector<std::string> architectures = any ? last.architectures : std::vector<std::string>();
  EXPECT_EQ(Tolerated(pod), architectures);
  EXPECT_EQ(Labelled(pod, {"amd64", "arm64", "s390x"}), architectures);
  EXPECT_EQ(pod.metadata().labels().contains(std::string(api::kNoSupportedArchLabel)),
            any && architectures.empty());
}

TEST(OwnTermsTest, StayAsTheyWereWhateverTheOtherTermsGet) {
  std::vector<std::vector<const Kind*>> lists = {{}};
  for (size_t i = 0; i < lists.size(); ++i) {
    if (lists[i].size() == 3) break;
    for (const Kind& kind : kKinds) {
      lists.push_back(lists[i]);
      lists.back().push_back(&kind);
    }
  }
  EXPECT_EQ(lists.size(), 1u + 7 + 49 + 343);
  for (const std::vector<const Kind*>& kinds : lists) {
    for (const Last& last : kLast) ExpectOwnTermsStay(kinds, last);
    if (HasFailure()) return;  // the others would fail for the same reason
  }
}

}  // namespace
}  // namespace placement
