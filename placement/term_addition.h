// SPDX-License-Identifier: Apache-2.0
// TermAddition: what one term of a required node affinity gets, by the rules of requirement.h.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "kube/types/core.pb.h"
#include "placement/architecture.h"
#include "placement/operating_systems.h"
#include "placement/platforms.h"

namespace placement {

// Without architectures, no node is to match the term.
struct TermAddition {
  ArchitectureSet architectures = {};
  std::set<std::string> operating_systems = {};
  std::set<std::string> windows_builds = {};
};

// The addition to a term, or to a pod without terms, whose nodes may have the systems `allowed`.
TermAddition AdditionFor(const OperatingSystems& allowed, const CommonPlatforms& common);

// Whether the node selector of the pod, or an expression of the term, is on
// node.kubernetes.io/windows-build.
bool SelectsWindowsBuild(const kube::core::Pod& pod, const kube::core::NodeSelectorTerm& term);

// Appends the expression `label In [values]`.
void AddOneOf(std::string_view label, const std::set<std::string>& values,
              kube::core::NodeSelectorTerm& term);
// Appends an expression that no node satisfies.
void AddNowhere(kube::core::NodeSelectorTerm& term);
// Appends all expressions of the addition.
void Add(const TermAddition& addition, kube::core::NodeSelectorTerm& term);

}  // namespace placement
