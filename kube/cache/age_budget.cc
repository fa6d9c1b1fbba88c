// SPDX-License-Identifier: Apache-2.0
#include "kube/cache/age_budget.h"

#include <utility>

namespace kube {

template <class Moved>
void AgeBudget::Oldest::Insert(const Item& item, size_t bytes, Moved moved) {
  auto inserted = items_.emplace(item, bytes).first;
  if (end_ != items_.end() && end_->first < item) return;
  bytes_ += bytes;
  moved(inserted->first, bytes, true);
  while (bytes_ > limit_) {
    --end_;
    bytes_ -= end_->second;
    moved(end_->first, end_->second, false);
  }
}

template <class Moved>
void AgeBudget::Oldest::Erase(const Item& item, Moved moved) {
  auto found = items_.find(item);
  if (found == items_.end()) return;
  bool first_left_out = found == end_;
  bool fits = end_ == items_.end() || found->first < end_->first;
  if (!first_left_out && !fits) {
    items_.erase(found);
    return;
  }
  if (fits) {
    bytes_ -= found->second;
    moved(found->first, found->second, false);
  } else {
    ++end_;
  }
  items_.erase(found);
  for (; end_ != items_.end() && bytes_ + end_->second <= limit_; ++end_) {
    bytes_ += end_->second;
    moved(end_->first, end_->second, true);
  }
}

void AgeBudget::Put(const ObjectKey& object, std::string created, size_t bytes) {
  auto [found, added] = entries_.try_emplace(object);
  Entry& entry = found->second;
  if (!added && entry.created == created && entry.bytes == bytes) return;
  if (added) {
    ++left_out_[object.ns];
    ++all_left_out_;
  } else {
    Discharge(object, entry);
  }
  entry.created = std::move(created);
  entry.bytes = bytes;
  if (bytes > limits_.object) return;
  Namespace& of_namespace =
      namespaces_.try_emplace(object.ns, limits_.one_namespace, share_).first->second;
  of_namespace.all.Insert({entry.created, object}, bytes,
                          [this](const Item& item, size_t of_item, bool fits) {
                            MoveInNamespace(item, of_item, fits);
                          });
}

void AgeBudget::Remove(const ObjectKey& object) {
  auto found = entries_.find(object);
  if (found == entries_.end()) return;
  Discharge(object, found->second);
  entries_.erase(found);
  touched_.erase(object);
  --all_left_out_;
  auto left_out = left_out_.find(object.ns);
  if (--left_out->second == 0) left_out_.erase(left_out);
}

void AgeBudget::Discharge(const ObjectKey& object, const Entry& entry) {
  auto of_namespace = namespaces_.find(object.ns);
  if (of_namespace == namespaces_.end()) return;
  of_namespace->second.all.Erase({entry.created, object},
                                 [this](const Item& item, size_t of_item, bool fits) {
                                   MoveInNamespace(item, of_item, fits);
                                 });
  if (of_namespace->second.all.empty()) namespaces_.erase(of_namespace);
}

void AgeBudget::MoveInNamespace(const Item& item, size_t bytes, bool fits) {
  entries_.at(item.object).fits_namespace = fits;
  Oldest& share = namespaces_.at(item.object.ns).share;
  auto set = [this](const Item& moved, size_t, bool in) { Set(moved, in); };
  // Between the share and the total. What is in neither does not fit.
  auto move = [&](const Item& moved, size_t of_moved, bool in_share) {
    if (in_share) total_.Erase(moved, set);
    Set(moved, in_share);
    if (!in_share) total_.Insert(moved, of_moved, set);
  };
  if (fits) {
    total_.Insert(item, bytes, set);
    share.Insert(item, bytes, move);
  } else {
    share.Erase(item, move);
    total_.Erase(item, set);
  }
}

void AgeBudget::Set(const Item& item, bool fits) {
  Entry& entry = entries_.at(item.object);
  if (std::exchange(entry.fits, fits) == fits) return;
  touched_.insert(item.object);
  size_t& left_out = left_out_[item.object.ns];
  left_out += fits ? -1 : 1;
  all_left_out_ += fits ? -1 : 1;
  if (left_out == 0) left_out_.erase(item.object.ns);
}

bool AgeBudget::Fits(const ObjectKey& object) const {
  auto found = entries_.find(object);
  return found != entries_.end() && found->second.fits;
}

AgeBudget::Limit AgeBudget::Exceeds(const ObjectKey& object) const {
  auto found = entries_.find(object);
  if (found == entries_.end() || found->second.fits) return Limit::kNone;
  if (found->second.bytes > limits_.object) return Limit::kObject;
  return found->second.fits_namespace ? Limit::kTotal : Limit::kNamespace;
}

std::vector<ObjectKey> AgeBudget::TakeChanged() {
  std::vector<ObjectKey> changed;
  for (const ObjectKey& object : std::exchange(touched_, {})) {
    Entry& entry = entries_.at(object);
    if (std::exchange(entry.told, entry.fits) != entry.fits) changed.push_back(object);
  }
  return changed;
}

size_t AgeBudget::LeftOut(const std::string& ns) const {
  if (ns.empty()) return all_left_out_;
  auto found = left_out_.find(ns);
  return found == left_out_.end() ? 0 : found->second;
}

}  // namespace kube
