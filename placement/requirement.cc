// SPDX-License-Identifier: Apache-2.0
#include "placement/requirement.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "api/names.h"
#include "kube/base/utf8.h"
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

RequirementResult Require(Pod& pod, const NodeSelectorRequirement& requirement) {
  if (!NeedsRequirement(pod)) {
    if (LabelOf(pod, api::kNodeAffinityLabel) == api::kSet) return RequirementResult::kKept;
    SetLabel(pod, api::kNodeAffinityLabel, api::kNotSet);
    return RequirementResult::kConflict;
  }
  NodeSelector& required = *pod.mutable_spec()
                                ->mutable_affinity()
                                ->mutable_node_affinity()
                                ->mutable_required_during_scheduling_ignored_during_execution();
  if (required.node_selector_terms().empty()) {
    *required.add_node_selector_terms()->add_match_expressions() = requirement;
  } else {
    for (NodeSelectorTerm& term : *required.mutable_node_selector_terms()) {
      if (TakesRequirement(term)) *term.add_match_expressions() = requirement;
    }
  }
  SetLabel(pod, api::kNodeAffinityLabel, api::kSet);
  return RequirementResult::kSet;
}

NodeSelectorRequirement OneOf(const ArchitectureSet& architectures) {
  NodeSelectorRequirement requirement;
  requirement.set_key(std::string(api::kArchLabel));
  requirement.set_operator_("In");
  for (const std::string& architecture : architectures) requirement.add_values(architecture);
  return requirement;
}

}  // namespace

bool NeedsRequirement(const Pod& pod) {
  if (SelectsArchitecture(pod)) return false;
  const auto& terms = RequiredOf(pod).node_selector_terms();
  return terms.empty() || std::any_of(terms.begin(), terms.end(), TakesRequirement);
}

RequirementResult ApplyRequirement(Pod& pod, const ArchitectureSet& architectures) {
  ArchitectureSet supported = OnlyNames(architectures);
  if (supported.empty()) return ApplyNoSupportedArchitecture(pod);
  RequirementResult result = Require(pod, OneOf(supported));
  if (result != RequirementResult::kSet) return result;
  SetLabel(pod, supported.size() == 1 ? api::kSingleArchLabel : api::kMultiArchLabel, "");
  for (const std::string& architecture : supported) {
    SetLabel(pod, std::string(api::kLabelPrefix) + architecture, "");
  }
  return result;
}

RequirementResult ApplyNoSupportedArchitecture(Pod& pod) {
  NodeSelectorRequirement nowhere;
  nowhere.set_key(std::string(api::kNoSupportedArchLabel));
  nowhere.set_operator_("Exists");
  RequirementResult result = Require(pod, nowhere);
  if (result != RequirementResult::kSet) return result;
  SetLabel(pod, api::kNoSupportedArchLabel, "");
  return RequirementResult::kNowhere;
}

RequirementResult ApplyFallback(Pod& pod, std::string_view architecture) {
  RequirementResult result = Require(pod, OneOf({std::string(architecture)}));
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
