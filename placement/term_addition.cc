// SPDX-License-Identifier: Apache-2.0
#include "placement/term_addition.h"

#include <algorithm>
#include <utility>

#include "api/amd64_levels.h"
#include "api/names.h"

namespace placement {
namespace {

using kube::core::NodeSelectorRequirement;
using kube::core::NodeSelectorTerm;

// A real image is for two.
constexpr size_t kMaxSystems = 8;

}  // namespace

size_t TermAddition::Bytes() const {
  constexpr size_t kExpression = 64, kValue = 4;
  size_t bytes = kExpression;
  for (const auto* values : {&architectures, &operating_systems, &windows_builds}) {
    for (const std::string& value : *values) bytes += value.size() + kValue;
  }
  if (amd64_level > 0) bytes += kExpression;
  return bytes;
}

std::vector<TermAddition> InOwnTerms(TermAddition addition) {
  if (addition.amd64_level == 0 || addition.architectures.size() == 1) return {std::move(addition)};
  TermAddition amd64 = addition;
  amd64.architectures = {std::string(kAmd64)};
  InOneTerm(addition);
  return {std::move(addition), std::move(amd64)};
}

bool InOneTerm(TermAddition& addition) {
  if (addition.amd64_level == 0 || addition.architectures.size() == 1) return false;
  addition.architectures.erase(std::string(kAmd64));
  addition.amd64_level = 0;
  return true;
}

TermAdditions::TermAdditions(const CommonPlatforms& common) : common_(common) {
  for (std::string_view os : {kLinux, kWindows}) AddSystem(std::string(os));
  for (const auto& [os, architectures] : common.by_os) AddSystem(os);
}

TermAddition TermAdditions::For(const OperatingSystems& allowed) {
  Choice choice;
  choice.named = allowed.AreNamed();
  for (size_t i = 0; i < systems_.size(); ++i)
    choice.allowed.push_back(allowed.Allow(systems_[i].name));
  // The same for most terms, and a pod may have very many.
  auto [known, is_new] = known_.try_emplace(choice);
  if (is_new) known->second = Decide(choice);
  TermAddition addition = known->second;
  bool linux_by_default = !choice.named && addition.operating_systems.contains(std::string(kLinux));
  if (linux_by_default || common_.every || allowed.RestrictNodesTo(addition.operating_systems))
    addition.operating_systems.clear();
  return addition;
}

void TermAdditions::AddSystem(const std::string& os) {
  auto is_same = [&](const System& system) { return system.name == os; };
  ArchitectureSet names = OnlyNames(common_.On(os));
  if (names.empty() || !IsOsName(os) || systems_.size() == kMaxSystems ||
      std::any_of(systems_.begin(), systems_.end(), is_same))
    return;
  systems_.push_back({os, std::move(names)});
}

TermAddition TermAdditions::Decide(const Choice& choice) const {
  std::vector<const System*> supported;
  for (size_t i = 0; i < systems_.size(); ++i) {
    if (!choice.allowed[i]) continue;
    supported.push_back(&systems_[i]);
    // Nodes are linux unless the user says otherwise, or no image is for linux.
    if (!choice.named && systems_[i].name == kLinux) break;
  }
  TermAddition addition;
  // Images that never run are for every system.
  if (supported.empty() && common_.every) addition.architectures = AllArchitectures();
  if (supported.empty()) return addition;

  addition.architectures = supported.front()->architectures;
  for (const System* system : supported) {
    addition.operating_systems.insert(system->name);
    std::erase_if(addition.architectures,
                  [&](const std::string& name) { return !system->architectures.contains(name); });
  }
  // An architecture of one system would admit nodes of another, whose architectures differ.
  if (addition.architectures.empty()) {
    addition.operating_systems = {supported.front()->name};
    addition.architectures = supported.front()->architectures;
  }
  if (addition.operating_systems == std::set<std::string>{std::string(kWindows)})
    addition.windows_builds = common_.windows_builds;
  if (addition.operating_systems == std::set<std::string>{std::string(kLinux)} &&
      addition.architectures.contains(std::string(kAmd64)))
    addition.amd64_level = common_.amd64_level;
  return addition;
}

bool SelectsWindowsBuild(const kube::core::Pod& pod, const NodeSelectorTerm& term) {
  auto selects = [](const NodeSelectorRequirement& expression) {
    return expression.key() == api::kWindowsBuildLabel;
  };
  return pod.spec().node_selector().contains(std::string(api::kWindowsBuildLabel)) ||
         std::any_of(term.match_expressions().begin(), term.match_expressions().end(), selects);
}

int Amd64LevelIn(const kube::core::Pod& pod, const NodeSelectorTerm& term) {
  int highest = 0;
  for (const auto& [label, value] : pod.spec().node_selector()) {
    if (value == "true") highest = std::max(highest, api::LevelOfAmd64Label(label));
  }
  for (const NodeSelectorRequirement& expression : term.match_expressions()) {
    bool is_true = expression.operator_() == "In" && expression.values_size() == 1 &&
                   expression.values(0) == "true";
    if (is_true || expression.operator_() == "Exists")
      highest = std::max(highest, api::LevelOfAmd64Label(expression.key()));
  }
  return highest;
}

const google::protobuf::RepeatedPtrField<NodeSelectorTerm>& RequiredTermsOf(
    const kube::core::Pod& pod) {
  return pod.spec()
      .affinity()
      .node_affinity()
      .required_during_scheduling_ignored_during_execution()
      .node_selector_terms();
}

void AddOneOf(std::string_view label, const std::set<std::string>& values, NodeSelectorTerm& term) {
  NodeSelectorRequirement& requirement = *term.add_match_expressions();
  requirement.set_key(std::string(label));
  requirement.set_operator_("In");
  for (const std::string& value : values) requirement.add_values(value);
}

void AddAmd64Level(int level, NodeSelectorTerm& term) {
  NodeSelectorRequirement& requirement = *term.add_match_expressions();
  requirement.set_key(api::Amd64LevelLabel(level));
  requirement.set_operator_("Exists");
}

void AddNowhere(NodeSelectorTerm& term) {
  NodeSelectorRequirement& nowhere = *term.add_match_expressions();
  nowhere.set_key(std::string(api::kNoSupportedArchLabel));
  nowhere.set_operator_("Exists");
}

void Add(const TermAddition& addition, NodeSelectorTerm& term) {
  if (addition.architectures.empty()) {
    AddNowhere(term);
    return;
  }
  AddOneOf(api::kArchLabel, addition.architectures, term);
  if (!addition.operating_systems.empty())
    AddOneOf(api::kOsLabel, addition.operating_systems, term);
  if (!addition.windows_builds.empty())
    AddOneOf(api::kWindowsBuildLabel, addition.windows_builds, term);
  if (addition.amd64_level > 0) AddAmd64Level(addition.amd64_level, term);
}

}  // namespace placement
