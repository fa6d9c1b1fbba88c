// SPDX-License-Identifier: Apache-2.0
#include "placement/narrowing.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "api/architecture.h"
#include "api/names.h"
#include "placement/operating_systems.h"
#include "placement/pod_metadata.h"
#include "placement/required_terms.h"
#include "placement/term_addition.h"

namespace placement {
namespace {

using kube::core::NodeSelectorRequirement;
using kube::core::NodeSelectorTerm;
using kube::core::Pod;

// What ApplyRequirement() has appended to a term.
struct Appended {
  ArchitectureSet architectures;
  // Empty: none.
  std::set<std::string> windows_builds;
  int amd64_level = 0;
};

bool HasArchitectureLabel(const Pod& pod, const std::string& architecture) {
  return api::IsArchitectureName(architecture) &&
         pod.metadata().labels().contains(std::string(api::kLabelPrefix) + architecture);
}

std::optional<Appended> AppendedTo(int index, const RequiredTerms& required, const Pod& pod) {
  if (!required.Has(index)) return std::nullopt;
  const NodeSelectorTerm& term = RequiredTermsOf(pod)[index];
  Appended appended;
  for (const NodeSelectorRequirement& expression : term.match_expressions()) {
    if (expression.key() == api::kNoSupportedArchLabel) return std::nullopt;
    const auto& values = expression.values();
    if (expression.key() == api::kArchLabel) {
      // One of another controller's takes nothing back.
      bool ours = expression.operator_() == "In" &&
                  std::all_of(values.begin(), values.end(), [&](const std::string& value) {
                    return HasArchitectureLabel(pod, value);
                  });
      if (ours) appended.architectures = {values.begin(), values.end()};
    } else if (expression.key() == api::kWindowsBuildLabel && expression.operator_() == "In" &&
               !appended.architectures.empty()) {
      appended.windows_builds = {values.begin(), values.end()};
    }
  }
  if (appended.architectures.empty()) return std::nullopt;
  appended.amd64_level = Amd64LevelIn(pod, term);
  return appended;
}

// Keeps the values that are in `all` too.
void Restrict(std::set<std::string>& values, const std::set<std::string>& all) {
  std::erase_if(values, [&](const std::string& value) { return !all.contains(value); });
}

// What is left of it.
TermAddition LeftOf(const Appended& appended, TermAddition now) {
  Restrict(now.architectures, appended.architectures);
  bool tells_build = !now.windows_builds.empty();
  if (!appended.windows_builds.empty()) Restrict(now.windows_builds, appended.windows_builds);
  if (!now.architectures.contains(std::string(kAmd64))) now.amd64_level = 0;
  if (appended.amd64_level < now.amd64_level) InOneTerm(now);
  if (now.architectures.empty() || (tells_build && now.windows_builds.empty())) return {};
  return now;
}

// Appends what `before` does not say yet of `now`, which has at least one architecture.
bool Append(const Appended& before, const TermAddition& now, const Pod& pod,
            NodeSelectorTerm& term) {
  int expressions = term.match_expressions_size();
  bool builds = !now.windows_builds.empty() && now.windows_builds != before.windows_builds &&
                (!before.windows_builds.empty() || !SelectsWindowsBuild(pod, term));
  if (now.architectures != before.architectures) AddOneOf(api::kArchLabel, now.architectures, term);
  if (!now.operating_systems.empty()) AddOneOf(api::kOsLabel, now.operating_systems, term);
  if (builds) AddOneOf(api::kWindowsBuildLabel, now.windows_builds, term);
  if (now.amd64_level > before.amd64_level) AddAmd64Level(now.amd64_level, term);
  return term.match_expressions_size() > expressions;
}

void ReplaceLabels(Pod& pod, const ArchitectureSet& before, const Requirement& now) {
  for (const std::string& architecture : before)
    RemoveLabel(pod, std::string(api::kLabelPrefix) + architecture);
  RemoveLabel(pod, api::kSingleArchLabel);
  RemoveLabel(pod, api::kMultiArchLabel);
  SetRequirementLabels(pod, now);
}

}  // namespace

ArchitectureSet RequiredBefore(const Pod& pod) {
  ArchitectureSet required;
  if (LabelOf(pod, api::kNodeAffinityLabel) != api::kSet) return required;
  const RequiredTerms terms = RequiredTerms::Of(pod);
  for (int i = 0; i < RequiredTermsOf(pod).size(); ++i) {
    if (std::optional<Appended> appended = AppendedTo(i, terms, pod))
      required.insert(appended->architectures.begin(), appended->architectures.end());
  }
  return required;
}

Requirement NarrowRequirement(Pod& pod, const CommonPlatforms& now) {
  Requirement required;
  const ArchitectureSet before = RequiredBefore(pod);
  if (before.empty()) return required;
  TermAdditions additions(now);
  const OperatingSystems of_pod = OperatingSystems::Of(pod);
  const RequiredTerms terms = RequiredTerms::Of(pod);
  const int count = RequiredTermsOf(pod).size();
  size_t bytes = 0;
  for (int i = 0; i < count; ++i) {
    if (std::optional<Appended> appended = AppendedTo(i, terms, pod))
      bytes += LeftOf(*appended, additions.For(of_pod.In(RequiredTermsOf(pod)[i]))).Bytes();
  }
  if (bytes > kMaxAddedBytes) {
    required.result = RequirementResult::kTooLarge;
    required.architectures = before;
    return required;
  }
  bool narrower = false;
  for (int i = 0; i < count; ++i) {
    std::optional<Appended> appended = AppendedTo(i, terms, pod);
    if (!appended) continue;
    NodeSelectorTerm& term = *pod.mutable_spec()
                                  ->mutable_affinity()
                                  ->mutable_node_affinity()
                                  ->mutable_required_during_scheduling_ignored_during_execution()
                                  ->mutable_node_selector_terms(i);
    TermAddition left = LeftOf(*appended, additions.For(of_pod.In(term)));
    if (left.architectures.empty()) {
      AddNowhere(term);
      narrower = true;
      continue;
    }
    narrower |= Append(*appended, left, pod, term);
    required.architectures.insert(left.architectures.begin(), left.architectures.end());
    required.operating_systems.insert(left.operating_systems.begin(), left.operating_systems.end());
    required.amd64_level = std::max(required.amd64_level, left.amd64_level);
  }
  if (!narrower) return required;
  required.result =
      required.architectures.empty() ? RequirementResult::kNowhere : RequirementResult::kSet;
  ReplaceLabels(pod, before, required);
  return required;
}

}  // namespace placement
