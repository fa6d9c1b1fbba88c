// SPDX-License-Identifier: Apache-2.0
#include "fuzz/base/user_settings.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "api/amd64_levels.h"
#include "api/names.h"
#include "kube/testing/make_pod.h"

namespace fuzz {
namespace {

using kube::core::NodeAffinity;
using kube::core::NodeSelector;
using kube::core::Pod;

NodeAffinity& AffinityOf(Pod& pod) {
  return *pod.mutable_spec()->mutable_affinity()->mutable_node_affinity();
}
NodeSelector& RequiredOf(Pod& pod) {
  return *AffinityOf(pod).mutable_required_during_scheduling_ignored_during_execution();
}

void AddExpression(kube::core::NodeSelectorTerm& term, std::string_view key,
                   const std::string& value) {
  auto& expression = *term.add_match_expressions();
  expression.set_key(std::string(key));
  expression.set_operator_("In");
  expression.add_values(value);
}
void AddPreference(Pod& pod, std::string_view key, const std::string& value) {
  auto& term = *AffinityOf(pod).add_preferred_during_scheduling_ignored_during_execution();
  term.set_weight(10);
  AddExpression(*term.mutable_preference(), key, value);
}

// With a term on the zone, one on the architecture, and an empty one.
Pod UsersPod() {
  Pod pod = kube::MakePod("web").Gate("example.com/first").Gate(api::kClusterGate);
  (*pod.mutable_metadata()->mutable_labels())["app"] = "web";
  AddExpression(*RequiredOf(pod).add_node_selector_terms(), "zone", "a");
  AddExpression(*RequiredOf(pod).add_node_selector_terms(), api::kArchLabel, "arm64");
  RequiredOf(pod).add_node_selector_terms();
  AddPreference(pod, "zone", "b");
  return pod;
}

struct Row {
  const char* name;
  bool kept;
  std::function<void(Pod&)> release;
};

TEST(UserSettingsTest, WhatAReleaseMayChange) {
  const Row rows[] = {
      {"nothing", true, [](Pod&) {}},
      {"the operator's gate and label", true,
       [](Pod& pod) {
         pod.mutable_spec()->mutable_scheduling_gates()->RemoveLast();
         (*pod.mutable_metadata()->mutable_labels())["multiarch.openshift.io/arm64"] = "";
       }},
      {"a requirement behind the user's expression", true,
       [](Pod& pod) {
         AddExpression(*RequiredOf(pod).mutable_node_selector_terms(0), api::kArchLabel, "amd64");
       }},
      {"with an operating system and a build", true,
       [](Pod& pod) {
         auto& term = *RequiredOf(pod).mutable_node_selector_terms(0);
         AddExpression(term, api::kArchLabel, "amd64");
         AddExpression(term, api::kOsLabel, "windows");
         AddExpression(term, api::kWindowsBuildLabel, "10.0.20348");
       }},
      {"an operating system alone", false,
       [](Pod& pod) {
         AddExpression(*RequiredOf(pod).mutable_node_selector_terms(0), api::kOsLabel, "windows");
       }},
      {"an expression on another label behind the requirement", false,
       [](Pod& pod) {
         auto& term = *RequiredOf(pod).mutable_node_selector_terms(0);
         AddExpression(term, api::kArchLabel, "amd64");
         AddExpression(term, "example.com/x", "amd64");
       }},
      {"a preference behind the user's", true,
       [](Pod& pod) { AddPreference(pod, api::kArchLabel, "amd64"); }},
      {"a gate of others is removed", false,
       [](Pod& pod) { pod.mutable_spec()->mutable_scheduling_gates()->DeleteSubrange(0, 1); }},
      {"a label of the user is removed", false,
       [](Pod& pod) { pod.mutable_metadata()->mutable_labels()->erase("app"); }},
      {"an annotation of no one is added", false,
       [](Pod& pod) { (*pod.mutable_metadata()->mutable_annotations())["example.com/x"] = ""; }},
      {"a requirement in a term that has one", false,
       [](Pod& pod) {
         AddExpression(*RequiredOf(pod).mutable_node_selector_terms(1), api::kArchLabel, "amd64");
       }},
      {"a requirement in a term that selects no node", false,
       [](Pod& pod) {
         AddExpression(*RequiredOf(pod).mutable_node_selector_terms(2), api::kArchLabel, "amd64");
       }},
      {"the user's architecture is changed", false,
       [](Pod& pod) {
         RequiredOf(pod).mutable_node_selector_terms(1)->mutable_match_expressions(0)->set_values(
             0, "amd64");
       }},
      {"the user's expression is removed", false,
       [](Pod& pod) {
         auto& term = *RequiredOf(pod).mutable_node_selector_terms(0);
         term.clear_match_expressions();
         AddExpression(term, api::kArchLabel, "amd64");
       }},
      {"a term is removed", false,
       [](Pod& pod) { RequiredOf(pod).mutable_node_selector_terms()->RemoveLast(); }},
      {"a term is added", false,
       [](Pod& pod) {
         AddExpression(*RequiredOf(pod).add_node_selector_terms(), api::kArchLabel, "amd64");
       }},
      {"the user's preference is removed", false,
       [](Pod& pod) {
         AffinityOf(pod).clear_preferred_during_scheduling_ignored_during_execution();
       }},
      {"another field is set", false, [](Pod& pod) { pod.mutable_spec()->set_node_name("node"); }},
  };
  for (const Row& row : rows) {
    Pod pod = UsersPod();
    row.release(pod);
    EXPECT_EQ(KeepsUserSettings(UsersPod(), pod), row.kept) << row.name;
  }
}

TEST(UserSettingsTest, APodWithoutAffinity) {
  Pod before = kube::MakePod("web").Gate(api::kClusterGate);
  Pod after = before;
  AddExpression(*RequiredOf(after).add_node_selector_terms(), api::kArchLabel, "amd64");
  AddPreference(after, api::kArchLabel, "amd64");
  EXPECT_TRUE(KeepsUserSettings(before, after));
  // Of amd64 with a level, which has a label of its own.
  Pod with_level = after;
  kube::core::NodeSelectorTerm& amd64 = *RequiredOf(with_level).add_node_selector_terms();
  AddExpression(amd64, api::kArchLabel, "amd64");
  kube::core::NodeSelectorRequirement& level = *amd64.add_match_expressions();
  level.set_key(api::Amd64LevelLabel(3));
  level.set_operator_("Exists");
  EXPECT_TRUE(KeepsUserSettings(before, with_level));
  level.set_operator_("DoesNotExist");
  EXPECT_FALSE(KeepsUserSettings(before, with_level));
  RequiredOf(after).add_node_selector_terms();
  EXPECT_FALSE(KeepsUserSettings(before, after));
}

TEST(UserSettingsTest, AUserWhoChoseTheArchitecture) {
  Pod selects = kube::MakePod("web");
  (*selects.mutable_spec()->mutable_node_selector())[std::string(api::kArchLabel)] = "arm64";
  Pod after = selects;
  AddExpression(*RequiredOf(after).add_node_selector_terms(), api::kArchLabel, "amd64");
  EXPECT_FALSE(KeepsUserSettings(selects, after));

  Pod prefers = kube::MakePod("web");
  AddPreference(prefers, api::kArchLabel, "arm64");
  after = prefers;
  AddPreference(after, api::kArchLabel, "amd64");
  EXPECT_FALSE(KeepsUserSettings(prefers, after));
}

// Only of a pod whose label says that it has a requirement.
TEST(UserSettingsTest, ARequirementMayBecomeNarrower) {
  for (bool labelled : {true, false}) {
    Pod before = UsersPod();
    if (labelled)
      (*before.mutable_metadata()->mutable_labels())[std::string(api::kNodeAffinityLabel)] = "set";
    Pod narrower = before;
    auto& term = *RequiredOf(narrower).mutable_node_selector_terms(1);
    AddExpression(term, api::kArchLabel, "arm64");
    AddExpression(term, api::kOsLabel, "windows");
    EXPECT_EQ(KeepsUserSettings(before, narrower), labelled);
    AddExpression(term, "zone", "a");
    EXPECT_FALSE(KeepsUserSettings(before, narrower));
    Pod changed = before;
    RequiredOf(changed).mutable_node_selector_terms(1)->mutable_match_expressions(0)->set_values(
        0, "amd64");
    EXPECT_FALSE(KeepsUserSettings(before, changed));
  }
}

}  // namespace
}  // namespace fuzz
