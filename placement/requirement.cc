// SPDX-License-Identifier: Apache-2.0
#include "placement/requirement.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "api/amd64_levels.h"
#include "api/names.h"
#include "kube/base/utf8.h"
#include "placement/operating_systems.h"
#include "placement/pod_metadata.h"
#include "placement/term_addition.h"

namespace placement {
namespace {

using kube::core::NodeSelector;
using kube::core::NodeSelectorRequirement;
using kube::core::NodeSelectorTerm;
using kube::core::Pod;

bool SelectsArchitecture(const Pod& pod) {
  return pod.spec().node_selector().contains(std::string(api::kArchLabel));
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
  if (required.node_selector_terms().empty()) {
    for (const TermAddition& added : InOwnTerms(addition(NodeSelectorTerm()))) {
      anywhere |= !added.architectures.empty();
      Add(added, *required.add_node_selector_terms());
    }
  } else {
    for (NodeSelectorTerm& term : *required.mutable_node_selector_terms()) {
      if (!TakesRequirement(term)) continue;
      TermAddition added = addition(term);
      anywhere |= !added.architectures.empty();
      Add(added, term);
    }
  }
  SetLabel(pod, api::kNodeAffinityLabel, api::kSet);
  return anywhere ? RequirementResult::kSet : RequirementResult::kNowhere;
}

}  // namespace

bool TakesRequirement(const NodeSelectorTerm& term) {
  if (term.match_expressions().empty() && term.match_fields().empty()) return false;
  return std::none_of(term.match_expressions().begin(), term.match_expressions().end(),
                      [](const NodeSelectorRequirement& expression) {
                        return expression.key() == api::kArchLabel ||
                               expression.key() == api::kNoSupportedArchLabel;
                      });
}

bool NeedsRequirement(const Pod& pod) {
  if (SelectsArchitecture(pod)) return false;
  const auto& terms = RequiredTermsOf(pod);
  return terms.empty() || std::any_of(terms.begin(), terms.end(), TakesRequirement);
}

Requirement ApplyRequirement(Pod& pod, const CommonPlatforms& common) {
  Requirement required;
  TermAdditions additions(common);
  const OperatingSystems of_pod = OperatingSystems::Of(pod);
  const bool own_terms = RequiredTermsOf(pod).empty();
  required.result = Require(pod, [&](const NodeSelectorTerm& term) {
    TermAddition addition = additions.For(of_pod.In(term));
    if (SelectsWindowsBuild(pod, term)) addition.windows_builds.clear();
    if (Amd64LevelIn(pod, term) >= addition.amd64_level) addition.amd64_level = 0;
    if (!own_terms) required.amd64_left_out |= InOneTerm(addition);
    required.amd64_level = std::max(required.amd64_level, addition.amd64_level);
    required.architectures.insert(addition.architectures.begin(), addition.architectures.end());
    required.operating_systems.insert(addition.operating_systems.begin(),
                                      addition.operating_systems.end());
    return addition;
  });
  SetRequirementLabels(pod, required);
  return required;
}

void SetRequirementLabels(Pod& pod, const Requirement& required) {
  if (required.result == RequirementResult::kNowhere) SetLabel(pod, api::kNoSupportedArchLabel, "");
  if (required.result != RequirementResult::kSet) return;
  SetLabel(pod, required.architectures.size() == 1 ? api::kSingleArchLabel : api::kMultiArchLabel,
           "");
  for (const std::string& architecture : required.architectures)
    SetLabel(pod, std::string(api::kLabelPrefix) + architecture, "");
}

std::string DescribeRequirement(const Requirement& required) {
  std::string text = Join(required.architectures);
  if (required.amd64_level > 0)
    text += "; of amd64, nodes with the label " + api::Amd64LevelLabel(required.amd64_level);
  if (required.amd64_left_out)
    text +=
        "; without amd64 where the pod's own terms allow others too, as the images need a "
        "level of x86-64";
  if (!required.operating_systems.empty())
    text += "; and one of the operating systems: " + Join(required.operating_systems);
  return text;
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
