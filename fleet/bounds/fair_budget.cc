// SPDX-License-Identifier: Apache-2.0
#include "fleet/bounds/fair_budget.h"

#include <set>

namespace fleet {

using kube::AgeBudget;
using kube::ObjectKey;

FairBudget::FairBudget(const Budget& budget)
    : all_({.object = budget.object, .one_namespace = budget.owner, .total = budget.total}) {
  if (budget.share > 0) {
    shares_.emplace(kube::CacheBudget{
        .object = budget.share, .one_namespace = budget.share, .total = budget.shares});
  }
}

void FairBudget::Put(const ObjectKey& object, const std::string& created, size_t bytes) {
  if (shares_) shares_->Put(object, created, bytes);
  all_.Put(object, created, bytes);
}

void FairBudget::Remove(const ObjectKey& object) {
  if (shares_) shares_->Remove(object);
  all_.Remove(object);
}

bool FairBudget::Fits(const ObjectKey& object) const {
  return all_.Fits(object) || (shares_ && shares_->Fits(object));
}

std::optional<Excess> FairBudget::Exceeds(const ObjectKey& object) const {
  if (Fits(object)) return std::nullopt;
  switch (all_.Exceeds(object)) {
    case AgeBudget::Limit::kNone:
      return std::nullopt;
    case AgeBudget::Limit::kObject:
      return Excess::kObject;
    case AgeBudget::Limit::kNamespace:
      return Excess::kOwner;
    case AgeBudget::Limit::kTotal:
      return Excess::kTotal;
  }
  return std::nullopt;
}

std::vector<ObjectKey> FairBudget::TakeChanged() {
  std::vector<ObjectKey> in_all = all_.TakeChanged();
  if (!shares_) return in_all;
  const std::set<ObjectKey> all(in_all.begin(), in_all.end());
  std::vector<ObjectKey> in_shares = shares_->TakeChanged();
  const std::set<ObjectKey> shares(in_shares.begin(), in_shares.end());
  std::set<ObjectKey> either = all;
  either.insert(shares.begin(), shares.end());
  std::vector<ObjectKey> changed;
  for (const ObjectKey& object : either) {
    bool before = all_.Fits(object) != all.contains(object) ||
                  shares_->Fits(object) != shares.contains(object);
    if (before != Fits(object)) changed.push_back(object);
  }
  return changed;
}

}  // namespace fleet
