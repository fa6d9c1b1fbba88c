// SPDX-License-Identifier: Apache-2.0
#include "plugin/pod/node_fit.h"

#include "api/names.h"

namespace plugin {
namespace {

using kube::core::NodeSelectorTerm;
using kube::core::PodSpec;
using kube::workloads::Taint;
using placement::NodeView;

// What the pod asks of nodes besides their architecture.
PodSpec WithoutArchitecture(PodSpec spec) {
  const std::string key(api::kArchLabel);
  spec.mutable_node_selector()->erase(key);
  auto& affinity = *spec.mutable_affinity()->mutable_node_affinity();
  if (!affinity.has_required_during_scheduling_ignored_during_execution()) return spec;
  auto& terms = *affinity.mutable_required_during_scheduling_ignored_during_execution()
                     ->mutable_node_selector_terms();
  for (NodeSelectorTerm& term : terms) {
    auto& expressions = *term.mutable_match_expressions();
    const bool had_any = !expressions.empty();
    for (int i = expressions.size() - 1; i >= 0; --i) {
      if (expressions.Get(i).key() == key) expressions.DeleteSubrange(i, 1);
    }
    // A term that asks for nothing else matches every node; an empty one matches none.
    if (had_any && expressions.empty() && term.match_fields().empty()) {
      affinity.clear_required_during_scheduling_ignored_during_execution();
      return spec;
    }
  }
  return spec;
}

bool HasLabels(const PodSpec& spec, const NodeView& node) {
  return placement::HasSelectedLabels(spec, node) && placement::SatisfiesAffinity(spec, node);
}

std::string Describe(const Taint& taint) {
  std::string text = taint.key();
  if (!taint.value().empty()) text += "=" + taint.value();
  return text + ":" + taint.effect();
}

}  // namespace

NodeFit FitOf(const PodSpec& spec, const NodeView& node) {
  if (!HasLabels(spec, node)) {
    if (!HasLabels(WithoutArchitecture(spec), node))
      return {Misfit::kLabels, "its labels are not those that the pod selects"};
    const std::string architecture = node.Label(api::kArchLabel);
    if (architecture.empty()) return {Misfit::kArchitecture, "its architecture is not known"};
    return {Misfit::kArchitecture, "its architecture is " + architecture};
  }
  for (const Taint& taint : node.taints) {
    if (placement::IsRepelling(taint) && !placement::Tolerates(spec, taint))
      return {Misfit::kTaint, "the pod does not tolerate its taint " + Describe(taint)};
  }
  return {};
}

FitSummary Summarize(const PodSpec& spec, std::span<const NodeView> nodes) {
  FitSummary summary;
  for (const NodeView& node : nodes) {
    NodeFit fit = FitOf(spec, node);
    if (fit.misfit == Misfit::kNone) {
      ++summary.fitting;
      continue;
    }
    summary.others[fit.misfit][fit.why].push_back(node.name);
  }
  return summary;
}

}  // namespace plugin
