// SPDX-License-Identifier: Apache-2.0
// PlanDecisionWrites: the writes that turn the PlacementDecisions of one Placement into the wanted
// ones, in an order in which a cluster that is in the old and in the new result is in at least one
// PlacementDecision after each write. Pure.
//
//   for (const DecisionWrite& write : PlanDecisionWrites("ns1-app", stored, wanted)) {
//     ... make the call; if it fails, stop: the next plan continues from what is stored then ...
//   }
//
// A PlacementDecision that hands a cluster to another one is written after it. If several wait for
// each other, one of them first gets the clusters of both results. If that would be more than 100,
// the clusters that leave it are copied to an additional PlacementDecision, which is deleted at the
// end. Deletions are last. Readers may briefly see a cluster twice, but never miss it.
//
// A PlacementDecision without the label of its Placement is invisible to readers: what is in it
// does not count, so it gets its clusters first and the label after that.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/api/placement_decision.h"

namespace fleet {

// The values of the labels that say which group a PlacementDecision belongs to.
struct GroupLabels {
  std::string index;
  std::string name;

  bool operator==(const GroupLabels&) const = default;
};

// A PlacementDecision that exists.
struct StoredPage {
  std::string name;
  // It has the label of the Placement.
  bool visible = true;
  // The Placement is the owner that controls it.
  bool owned = true;
  // It has a deletionTimestamp.
  bool deleting = false;
  // nullopt: a label is missing.
  std::optional<GroupLabels> group;
  std::vector<Decision> decisions;
};

// The PlacementDecision that is wanted; at most kDecisionsPerPage items, each cluster once in all.
struct WantedPage {
  GroupLabels group;
  std::vector<Decision> decisions;
};

struct DecisionWrite {
  enum class Kind {
    kCreate,     // with all labels and the owner; without decisions
    kLabels,     // all our labels and the owner, of one that exists
    kDecisions,  // replaces status.decisions
    kDelete,
  };
  Kind kind;
  std::string name;
  // Only for kCreate and kLabels.
  GroupLabels group = {};
  // Only for kDecisions; at most kDecisionsPerPage.
  std::vector<Decision> decisions = {};
};

// "PLACEMENT-decision-K"; `number` is from 1.
std::string DecisionName(std::string_view placement, size_t number);

// `wanted[i]` is the content of DecisionName(placement, i + 1). `stored` are all PlacementDecisions
// with the label of the Placement, and those with a name of `wanted`, each once.
// Returns: empty if nothing differs. A wanted score that is stored nowhere is no difference: an
// older CRD prunes the field.
std::vector<DecisionWrite> PlanDecisionWrites(std::string_view placement,
                                              const std::vector<StoredPage>& stored,
                                              const std::vector<WantedPage>& wanted);

}  // namespace fleet
