// SPDX-License-Identifier: Apache-2.0
// OperatingSystems: those that the nodes of a pod may have, by spec.os, by its node selector and by
// the expressions of a required node affinity term on kubernetes.io/os.
//
//   OperatingSystems of_pod = OperatingSystems::Of(pod);
//   OperatingSystems of_term = of_pod.In(term);
//   of_term.Allow("windows")
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kube/types/core.pb.h"

namespace placement {

class OperatingSystems {
 public:
  // Allows every one if neither spec.os nor the node selector names one. Refers to the pod.
  static OperatingSystems Of(const kube::core::Pod& pod);

  // Those that this term allows too. Refers to the term.
  OperatingSystems In(const kube::core::NodeSelectorTerm& term) const;

  bool Allow(std::string_view os) const;
  // Whether they are named one by one; false for all of them, and for "not windows".
  bool AreNamed() const;
  // Whether the scheduler only considers nodes with one of `systems`. Its nodes are not restricted
  // by spec.os, which the kubelet checks; linux is not worth an expression.
  bool RestrictNodesTo(const std::set<std::string>& systems) const;

 private:
  std::string_view of_spec_;
  std::optional<std::string_view> selected_;  // by the node selector
  std::vector<const kube::core::NodeSelectorRequirement*> expressions_;
};

}  // namespace placement
