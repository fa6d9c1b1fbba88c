// SPDX-License-Identifier: Apache-2.0
#include "fuzz/base/user_settings.h"

#include <algorithm>
#include <string>

#include "api/amd64_levels.h"
#include "api/names.h"
#include "fuzz/base/bytes.h"

namespace fuzz {
namespace {

using kube::core::Affinity;
using kube::core::NodeAffinity;
using kube::core::NodeSelector;
using kube::core::NodeSelectorRequirement;
using kube::core::NodeSelectorTerm;
using kube::core::Pod;
using kube::core::PodSchedulingGate;
using kube::core::PreferredSchedulingTerm;

bool IsOurGate(const PodSchedulingGate& gate) {
  return gate.name() == api::kClusterGate || gate.name() == api::kLocalGate;
}

// The operator's names on a pod, which users do not set.
void RemoveOperatorNames(Pod& pod) {
  auto& gates = *pod.mutable_spec()->mutable_scheduling_gates();
  gates.erase(std::remove_if(gates.begin(), gates.end(), IsOurGate), gates.end());
  for (auto* names :
       {pod.mutable_metadata()->mutable_labels(), pod.mutable_metadata()->mutable_annotations()}) {
    for (auto name = names->begin(); name != names->end();)
      name = name->first.starts_with(api::kLabelPrefix) ? names->erase(name) : std::next(name);
  }
}

bool IsOnArchitecture(const NodeSelectorRequirement& expression) {
  return expression.key() == api::kArchLabel;
}

bool IsRequirement(const NodeSelectorRequirement& expression) {
  bool nowhere = expression.key() == api::kNoSupportedArchLabel &&
                 expression.operator_() == "Exists" && expression.values().empty();
  bool one_of = IsOnArchitecture(expression) && expression.operator_() == "In" &&
                !expression.values().empty();
  return nowhere || one_of;
}

bool ConstrainsArchitecture(const NodeSelectorTerm& term) {
  return std::any_of(term.match_expressions().begin(), term.match_expressions().end(),
                     [](const NodeSelectorRequirement& expression) {
                       return IsOnArchitecture(expression) ||
                              expression.key() == api::kNoSupportedArchLabel;
                     });
}

bool IsOneOf(const NodeSelectorRequirement& expression, std::string_view label) {
  return expression.key() == label && expression.operator_() == "In" &&
         !expression.values().empty();
}

bool IsLevel(const NodeSelectorRequirement& expression) {
  return api::LevelOfAmd64Label(expression.key()) > 0 && expression.operator_() == "Exists";
}

// Removes a requirement behind the first `own` expressions: the architecture, the operating system
// if the images need another one, and its build.
void RemoveRequirementBehind(int own, NodeSelectorTerm& term) {
  auto& expressions = *term.mutable_match_expressions();
  int next = own;
  if (next >= expressions.size() || !IsRequirement(expressions[next])) return;
  bool somewhere = IsOnArchitecture(expressions[next++]);
  for (std::string_view label : {api::kOsLabel, api::kWindowsBuildLabel}) {
    if (somewhere && next < expressions.size() && IsOneOf(expressions[next], label)) ++next;
  }
  if (somewhere && next < expressions.size() && IsLevel(expressions[next])) ++next;
  if (next == expressions.size()) expressions.DeleteSubrange(own, next - own);
}

void RemoveRequirement(const NodeSelector& before, NodeSelector& after) {
  auto& terms = *after.mutable_node_selector_terms();
  if (before.node_selector_terms().empty()) {
    // One of amd64 alone, if it needs a level.
    if (terms.size() > 2) return;
    for (int i = terms.size() - 1; i >= 0; --i) {
      int before_removal = terms[i].match_expressions_size();
      RemoveRequirementBehind(0, terms[i]);
      bool removed = terms[i].match_expressions_size() < before_removal;
      if (removed && terms[i].match_fields().empty()) terms.DeleteSubrange(i, 1);
    }
    return;
  }
  for (int i = 0; i < std::min(before.node_selector_terms_size(), terms.size()); ++i) {
    const NodeSelectorTerm& own = before.node_selector_terms(i);
    // An empty term selects no node, and must go on to do so.
    bool empty = own.match_expressions().empty() && own.match_fields().empty();
    if (!empty && !ConstrainsArchitecture(own))
      RemoveRequirementBehind(own.match_expressions_size(), terms[i]);
  }
}

// Of a pod that has a requirement by its labels: what was appended to it when it became narrower.
void RemoveNarrowing(const NodeSelector& before, NodeSelector& after) {
  auto& terms = *after.mutable_node_selector_terms();
  for (int i = 0; i < std::min(before.node_selector_terms_size(), terms.size()); ++i) {
    if (!ConstrainsArchitecture(before.node_selector_terms(i))) continue;
    auto& expressions = *terms[i].mutable_match_expressions();
    int own = before.node_selector_terms(i).match_expressions_size();
    auto is_ours = [](const NodeSelectorRequirement& expression) {
      return IsRequirement(expression) || IsOneOf(expression, api::kOsLabel) ||
             IsOneOf(expression, api::kWindowsBuildLabel) || IsLevel(expression);
    };
    if (expressions.size() > own &&
        std::all_of(expressions.begin() + own, expressions.end(), is_ours))
      expressions.DeleteSubrange(own, expressions.size() - own);
  }
}

bool HasRequirement(const Pod& pod) {
  auto label = pod.metadata().labels().find(std::string(api::kNodeAffinityLabel));
  return label != pod.metadata().labels().end() && label->second == api::kSet;
}

bool IsPreference(const PreferredSchedulingTerm& term) {
  return term.weight() >= 1 && term.weight() <= 100 && term.preference().match_fields().empty() &&
         term.preference().match_expressions_size() == 1 &&
         IsOnArchitecture(term.preference().match_expressions(0)) &&
         term.preference().match_expressions(0).values_size() == 1;
}

void RemovePreferences(const NodeAffinity& before, NodeAffinity& after) {
  auto& terms = *after.mutable_preferred_during_scheduling_ignored_during_execution();
  int own = before.preferred_during_scheduling_ignored_during_execution_size();
  while (terms.size() > own && IsPreference(terms[terms.size() - 1])) terms.RemoveLast();
}

// The user's: not one that an earlier release has recorded.
bool PrefersArchitecture(const Pod& pod) {
  if (pod.metadata().annotations().contains(
          std::string(api::kPreferredAffinitySourcesAnnotation))) {
    return false;
  }
  const auto& terms =
      pod.spec().affinity().node_affinity().preferred_during_scheduling_ignored_during_execution();
  return std::any_of(terms.begin(), terms.end(), [](const PreferredSchedulingTerm& term) {
    const auto& expressions = term.preference().match_expressions();
    return std::any_of(expressions.begin(), expressions.end(), IsOnArchitecture);
  });
}

void RemoveDecision(const Pod& before, Pod& after) {
  if (!after.spec().has_affinity() || !after.spec().affinity().has_node_affinity()) return;
  Affinity& affinity = *after.mutable_spec()->mutable_affinity();
  NodeAffinity& nodes = *affinity.mutable_node_affinity();
  const NodeAffinity& own = before.spec().affinity().node_affinity();
  if (HasRequirement(before) && nodes.has_required_during_scheduling_ignored_during_execution()) {
    RemoveNarrowing(own.required_during_scheduling_ignored_during_execution(),
                    *nodes.mutable_required_during_scheduling_ignored_during_execution());
  }
  bool constrained = before.spec().node_selector().contains(std::string(api::kArchLabel));
  if (!constrained && nodes.has_required_during_scheduling_ignored_during_execution()) {
    NodeSelector& required = *nodes.mutable_required_during_scheduling_ignored_during_execution();
    RemoveRequirement(own.required_during_scheduling_ignored_during_execution(), required);
    if (!own.has_required_during_scheduling_ignored_during_execution() && Bytes(required).empty())
      nodes.clear_required_during_scheduling_ignored_during_execution();
  }
  if (!PrefersArchitecture(before)) RemovePreferences(own, nodes);
  if (!before.spec().affinity().has_node_affinity() && Bytes(nodes).empty())
    affinity.clear_node_affinity();
  if (!before.spec().has_affinity() && Bytes(affinity).empty())
    after.mutable_spec()->clear_affinity();
}

}  // namespace

bool KeepsUserSettings(Pod before, Pod after) {
  RemoveDecision(before, after);
  RemoveOperatorNames(before);
  RemoveOperatorNames(after);
  return Bytes(before) == Bytes(after);
}

}  // namespace fuzz
