// SPDX-License-Identifier: Apache-2.0
// FairBudget: which objects of many owners are in force when there is not room for all, by age
// (kube/cache/age_budget.h). The oldest ones of each owner, up to Budget::share, are in force
// besides: an owner that uses up the room of all leaves others their shares.
//
//   FairBudget budget(kPlacementBudget);
//   budget.Put({"shop", "a"}, "2026-01-01T00:00:00Z", bytes);
//   for (const ObjectKey& object : budget.TakeChanged()) ... budget.Fits(object) ...
//
// Thread: one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "fleet/api/budgets.h"
#include "kube/cache/age_budget.h"
#include "kube/types/resource.h"

namespace fleet {

class FairBudget {
 public:
  explicit FairBudget(const Budget& budget);

  // Adds the object, or replaces it. `created`: a text that is less for an older object.
  void Put(const kube::ObjectKey& object, const std::string& created, size_t bytes);
  void Remove(const kube::ObjectKey& object);
  // False also for an object that is not known.
  bool Fits(const kube::ObjectKey& object) const;
  // nullopt for an object that fits, or is not known.
  std::optional<Excess> Exceeds(const kube::ObjectKey& object) const;
  // The objects for which Fits() has changed since the last call, without removed ones.
  std::vector<kube::ObjectKey> TakeChanged();

 private:
  // All objects are in both. Without shares, the first is not used.
  std::optional<kube::AgeBudget> shares_;
  kube::AgeBudget all_;
};

}  // namespace fleet
