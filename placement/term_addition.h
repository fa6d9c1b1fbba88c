// SPDX-License-Identifier: Apache-2.0
// TermAddition: what one term of a required node affinity gets, by the rules of requirement.h.
#pragma once

#include <compare>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kube/types/core.pb.h"
#include "placement/architecture.h"
#include "placement/operating_systems.h"
#include "placement/platforms.h"

namespace placement {

// Of the additions to all terms of a pod. With more, the API server would refuse the pod, after the
// additions have cost the memory for it.
inline constexpr size_t kMaxAddedBytes = 1u << 20;

// Without architectures, no node is to match the term.
struct TermAddition {
  ArchitectureSet architectures = {};
  std::set<std::string> operating_systems = {};
  std::set<std::string> windows_builds = {};
  // 2 to 4: what the nodes of amd64 must have of the levels of x86-64; 0: any.
  int amd64_level = 0;

  // About what it takes in JSON.
  size_t Bytes() const;
};

// The same for a pod without terms: the terms that it gets. An amd64 that needs a node label is in
// a term of its own.
std::vector<TermAddition> InOwnTerms(TermAddition addition);
// The same for one term: its expressions are ANDed, so amd64 is left out if it needs a label, which
// the other architectures do not have. True if it was left out.
bool InOneTerm(TermAddition& addition);

// What is required of nodes with the allowed operating systems, in any number of terms.
class TermAdditions {
 public:
  // `common` outlives it.
  explicit TermAdditions(const CommonPlatforms& common);

  TermAddition For(const OperatingSystems& allowed);

 private:
  struct System {
    std::string name;
    ArchitectureSet architectures;
  };
  struct Choice {
    bool named = false;
    std::vector<bool> allowed;  // of systems_
    auto operator<=>(const Choice&) const = default;
  };

  void AddSystem(const std::string& os);
  TermAddition Decide(const Choice& choice) const;

  const CommonPlatforms& common_;
  std::vector<System> systems_;  // linux first
  std::map<Choice, TermAddition> known_;
};

// Whether the node selector of the pod, or an expression of the term, is on
// node.kubernetes.io/windows-build.
bool SelectsWindowsBuild(const kube::core::Pod& pod, const kube::core::NodeSelectorTerm& term);

// The highest level of x86-64 that the node selector of the pod, or an expression of the term, asks
// for by its label; 0: none.
int Amd64LevelIn(const kube::core::Pod& pod, const kube::core::NodeSelectorTerm& term);

// The terms of the pod's required node affinity.
const google::protobuf::RepeatedPtrField<kube::core::NodeSelectorTerm>& RequiredTermsOf(
    const kube::core::Pod& pod);

// Appends the expression `label In [values]`.
void AddOneOf(std::string_view label, const std::set<std::string>& values,
              kube::core::NodeSelectorTerm& term);
// Appends an expression on the label of nodes that have this level of x86-64.
void AddAmd64Level(int level, kube::core::NodeSelectorTerm& term);
// Appends an expression that no node satisfies.
void AddNowhere(kube::core::NodeSelectorTerm& term);
// Appends all expressions of the addition.
void Add(const TermAddition& addition, kube::core::NodeSelectorTerm& term);

}  // namespace placement
