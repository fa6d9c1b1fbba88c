// SPDX-License-Identifier: Apache-2.0
#include "placement/operating_systems.h"

#include <algorithm>

#include "api/names.h"

namespace placement {
namespace {

using kube::core::NodeSelectorRequirement;

// Whether a node with this operating system satisfies the expression. Every node has the label. An
// operator that compares numbers is satisfied by no name.
bool Satisfies(const NodeSelectorRequirement& expression, std::string_view os) {
  bool listed = std::find(expression.values().begin(), expression.values().end(), os) !=
                expression.values().end();
  if (expression.operator_() == "In") return listed;
  if (expression.operator_() == "NotIn") return !listed;
  return expression.operator_() == "Exists";
}

}  // namespace

OperatingSystems OperatingSystems::Of(const kube::core::Pod& pod) {
  OperatingSystems systems;
  systems.of_spec_ = pod.spec().os().name();
  auto selected = pod.spec().node_selector().find(std::string(api::kOsLabel));
  if (selected != pod.spec().node_selector().end()) systems.selected_ = selected->second;
  return systems;
}

OperatingSystems OperatingSystems::In(const kube::core::NodeSelectorTerm& term) const {
  OperatingSystems systems = *this;
  for (const NodeSelectorRequirement& expression : term.match_expressions()) {
    if (expression.key() == api::kOsLabel) systems.expressions_.push_back(&expression);
  }
  return systems;
}

bool OperatingSystems::Allow(std::string_view os) const {
  return (of_spec_.empty() || of_spec_ == os) && (!selected_ || *selected_ == os) &&
         std::all_of(expressions_.begin(), expressions_.end(),
                     [&](auto* expression) { return Satisfies(*expression, os); });
}

bool OperatingSystems::AreNamed() const {
  return !of_spec_.empty() || selected_ ||
         std::any_of(expressions_.begin(), expressions_.end(),
                     [](auto* expression) { return expression->operator_() == "In"; });
}

// One expression that names only these is enough: the others can only exclude some of them.
bool OperatingSystems::RestrictNodesTo(const std::set<std::string>& systems) const {
  auto is_one = [&](const auto& os) { return systems.contains(std::string(os)); };
  bool only_linux = systems.size() == 1 && systems.contains("linux");
  return (only_linux && of_spec_ == "linux") || (selected_ && is_one(*selected_)) ||
         std::any_of(expressions_.begin(), expressions_.end(), [&](auto* expression) {
           return expression->operator_() == "In" &&
                  std::all_of(expression->values().begin(), expression->values().end(), is_one);
         });
}

}  // namespace placement
