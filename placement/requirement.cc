// SPDX-License-Identifier: Apache-2.0
#include "placement/requirement.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/names.h"
#include "kube/base/utf8.h"
#include "placement/operating_systems.h"
#include "placement/pod_metadata.h"

namespace placement {
namespace {

using kube::core::NodeSelector;
using kube::core::NodeSelectorRequirement;
using kube::core::NodeSelectorTerm;
using kube::core::Pod;

bool SelectsArchitecture(const Pod& pod) {
  return pod.spec().node_selector().contains(std::string(api::kArchLabel));
}

bool TakesRequirement(const NodeSelectorTerm& term) {
  if (term.match_expressions().empty() && term.match_fields().empty()) return false;
  return std::none_of(term.match_expressions().begin(), term.match_expressions().end(),
                      [](const NodeSelectorRequirement& expression) {
                        return expression.key() == api::kArchLabel ||
                               expression.key() == api::kNoSupportedArchLabel;
                      });
}

const NodeSelector& RequiredOf(const Pod& pod) {
  return pod.spec()
      .affinity()
      .node_affinity()
      .required_during_scheduling_ignored_during_execution();
}

// Of the additions to all terms of a pod. With more, the API server would refuse the pod, after the
// additions have cost the memory for it.
constexpr size_t kMaxAddedBytes = 1u << 20;

// What one term gets. Without architectures, no node is to match it.
struct TermAddition {
  ArchitectureSet architectures = {};
  std::set<std::string> operating_systems = {};
  std::set<std::string> windows_builds = {};

  // About what it takes in JSON.
  size_t Bytes() const {
    constexpr size_t kExpression = 64, kValue = 4;
    size_t bytes = kExpression;
    for (const auto* values : {&architectures, &operating_systems, &windows_builds}) {
      for (const std::string& value : *values) bytes += value.size() + kValue;
    }
    return bytes;
  }
};

NodeSelectorRequirement OneOf(std::string_view label, const std::set<std::string>& values) {
  NodeSelectorRequirement requirement;
  requirement.set_key(std::string(label));
  requirement.set_operator_("In");
  for (const std::string& value : values) requirement.add_values(value);
  return requirement;
}

NodeSelectorRequirement Nowhere() {
  NodeSelectorRequirement nowhere;
  nowhere.set_key(std::string(api::kNoSupportedArchLabel));
  nowhere.set_operator_("Exists");
  return nowhere;
}

void Add(const TermAddition& addition, NodeSelectorTerm& term) {
  if (addition.architectures.empty()) {
    *term.add_match_expressions() = Nowhere();
    return;
  }
  *term.add_match_expressions() = OneOf(api::kArchLabel, addition.architectures);
  if (!addition.operating_systems.empty())
    *term.add_match_expressions() = OneOf(api::kOsLabel, addition.operating_systems);
  if (!addition.windows_builds.empty())
    *term.add_match_expressions() = OneOf(api::kWindowsBuildLabel, addition.windows_builds);
}

// What is required of nodes with the allowed operating systems.
class TermAdditions {
 public:
  explicit TermAdditions(const CommonPlatforms& common) : common_(common) {
    for (std::string_view os : {kLinux, kWindows}) AddSystem(std::string(os));
    for (const auto& [os, architectures] : common.by_os) AddSystem(os);
  }

  TermAddition For(const OperatingSystems& allowed) {
    Choice choice;
    choice.named = allowed.AreNamed();
    for (size_t i = 0; i < systems_.size(); ++i)
      choice.allowed.push_back(allowed.Allow(systems_[i].name));
    // The same for most terms, and a pod may have very many.
    auto [known, is_new] = known_.try_emplace(choice);
    if (is_new) known->second = Decide(choice);
    TermAddition addition = known->second;
    bool linux_by_default =
        !choice.named && addition.operating_systems.contains(std::string(kLinux));
    if (linux_by_default || common_.every || allowed.RestrictNodesTo(addition.operating_systems))
      addition.operating_systems.clear();
    return addition;
  }

 private:
  // A real image is for two.
  static constexpr size_t kMaxSystems = 8;

  struct System {
    std::string name;
    ArchitectureSet architectures;
  };
  struct Choice {
    bool named = false;
    std::vector<bool> allowed;  // of systems_
    auto operator<=>(const Choice&) const = default;
  };

  void AddSystem(const std::string& os) {
    auto is_same = [&](const System& system) { return system.name == os; };
    ArchitectureSet names = OnlyNames(common_.On(os));
    if (names.empty() || !IsOsName(os) || systems_.size() == kMaxSystems ||
        std::any_of(systems_.begin(), systems_.end(), is_same))
      return;
    systems_.push_back({os, std::move(names)});
  }

  TermAddition Decide(const Choice& choice) const {
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
    return addition;
  }

  const CommonPlatforms& common_;
  std::vector<System> systems_;  // linux first
  std::map<Choice, TermAddition> known_;
};

bool SelectsWindowsBuild(const Pod& pod, const NodeSelectorTerm& term) {
  auto selects = [](const NodeSelectorRequirement& expression) {
    return expression.key() == api::kWindowsBuildLabel;
  };
  return pod.spec().node_selector().contains(std::string(api::kWindowsBuildLabel)) ||
         std::any_of(term.match_expressions().begin(), term.match_expressions().end(), selects);
}

// Calls `addition` with each term that takes a requirement, and adds its result to the term.
template <typename Addition>
RequirementResult Require(Pod& pod, const Addition& addition) {
  if (!NeedsRequirement(pod)) {
    if (LabelOf(pod, api::kNodeAffinityLabel) == api::kSet) return RequirementResult::kKept;
    SetLabel(pod, api::kNodeAffinityLabel, api::kNotSet);
    return RequirementResult::kConflict;
  }
  NodeSelector& required = *pod.mutable_spec()
                                ->mutable_affinity()
                                ->mutable_node_affinity()
                                ->mutable_required_during_scheduling_ignored_during_execution();
  size_t bytes = 0;
  for (const NodeSelectorTerm& term : required.node_selector_terms()) {
    if (TakesRequirement(term)) bytes += addition(term).Bytes();
  }
  if (bytes > kMaxAddedBytes) {
    SetLabel(pod, api::kNodeAffinityLabel, api::kNotSet);
    return RequirementResult::kTooLarge;
  }
  bool anywhere = false;
  auto add_to = [&](NodeSelectorTerm& term) {
    TermAddition added = addition(term);
    anywhere |= !added.architectures.empty();
    Add(added, term);
  };
  if (required.node_selector_terms().empty()) {
    add_to(*required.add_node_selector_terms());
  } else {
    for (NodeSelectorTerm& term : *required.mutable_node_selector_terms()) {
      if (TakesRequirement(term)) add_to(term);
    }
  }
  SetLabel(pod, api::kNodeAffinityLabel, api::kSet);
  return anywhere ? RequirementResult::kSet : RequirementResult::kNowhere;
}

}  // namespace

bool NeedsRequirement(const Pod& pod) {
  if (SelectsArchitecture(pod)) return false;
  const auto& terms = RequiredOf(pod).node_selector_terms();
  return terms.empty() || std::any_of(terms.begin(), terms.end(), TakesRequirement);
}

Requirement ApplyRequirement(Pod& pod, const CommonPlatforms& common) {
  Requirement required;
  TermAdditions additions(common);
  const OperatingSystems of_pod = OperatingSystems::Of(pod);
  required.result = Require(pod, [&](const NodeSelectorTerm& term) {
    TermAddition addition = additions.For(of_pod.In(term));
    if (SelectsWindowsBuild(pod, term)) addition.windows_builds.clear();
    required.architectures.insert(addition.architectures.begin(), addition.architectures.end());
    required.operating_systems.insert(addition.operating_systems.begin(),
                                      addition.operating_systems.end());
    return addition;
  });
  if (required.result == RequirementResult::kNowhere) SetLabel(pod, api::kNoSupportedArchLabel, "");
  if (required.result != RequirementResult::kSet) return required;
  SetLabel(pod, required.architectures.size() == 1 ? api::kSingleArchLabel : api::kMultiArchLabel,
           "");
  for (const std::string& architecture : required.architectures)
    SetLabel(pod, std::string(api::kLabelPrefix) + architecture, "");
  return required;
}

RequirementResult ApplyFallback(Pod& pod, std::string_view architecture) {
  RequirementResult result = Require(pod, [&](const NodeSelectorTerm&) {
    return TermAddition{.architectures = {std::string(architecture)}};
  });
  if (result == RequirementResult::kSet) SetLabel(pod, api::kFallbackArchLabel, architecture);
  return result;
}

void ApplyInspectionError(Pod& pod, std::string_view message, int tries) {
  constexpr size_t kMaxMessage = 256;
  SetLabel(pod, api::kInspectErrorLabel, "");
  SetLabel(pod, api::kInspectErrorCountLabel, std::to_string(tries));
  SetAnnotation(pod, api::kInspectErrorAnnotation, kube::CutUtf8(message, kMaxMessage));
}

void ClearInspectionError(Pod& pod) {
  RemoveLabel(pod, api::kInspectErrorLabel);
  RemoveAnnotation(pod, api::kInspectErrorAnnotation);
}

int InspectionTries(const Pod& pod, int limit) {
  std::string_view text = LabelOf(pod, api::kInspectErrorCountLabel);
  int tries = 0;
  auto parsed = std::from_chars(text.data(), text.data() + text.size(), tries);
  if (parsed.ptr != text.data() + text.size()) return 0;
  // Users can write any number.
  if (parsed.ec == std::errc::result_out_of_range) return text.starts_with('-') ? 0 : limit;
  return parsed.ec == std::errc() ? std::clamp(tries, 0, limit) : 0;
}

}  // namespace placement
