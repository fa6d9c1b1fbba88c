// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/budget.h"

#include <utility>

namespace policy {

using kube::Json;
using kube::ObjectKey;

size_t BudgetBytes(const Json& policy) {
  const Json* spec = kube::Find(policy, "spec");
  return spec == nullptr ? 0 : kube::PackJson(*spec).size();
}

template <class Moved>
void Budget::Oldest::Insert(const Item& item, size_t bytes, Moved moved) {
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
void Budget::Oldest::Erase(const Item& item, Moved moved) {
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

void Budget::Put(const ObjectKey& policy, std::string created, size_t bytes) {
  auto [found, added] = entries_.try_emplace(policy);
  Entry& entry = found->second;
  if (!added && entry.created == created && entry.bytes == bytes) return;
  if (added) {
    ++left_out_[policy.ns];
    ++all_left_out_;
  } else {
    Discharge(policy, entry);
  }
  entry.created = std::move(created);
  entry.bytes = bytes;
  if (bytes > kPolicyBytes) return;
  Oldest& oldest = namespaces_.try_emplace(policy.ns, kNamespaceBytes).first->second;
  oldest.Insert({entry.created, policy}, bytes,
                [this](const Item& item, size_t of_item, bool fits) {
                  MoveInNamespace(item, of_item, fits);
                });
}

void Budget::Remove(const ObjectKey& policy) {
  auto found = entries_.find(policy);
  if (found == entries_.end()) return;
  Discharge(policy, found->second);
  entries_.erase(found);
  touched_.erase(policy);
  --all_left_out_;
  auto left_out = left_out_.find(policy.ns);
  if (--left_out->second == 0) left_out_.erase(left_out);
}

void Budget::Discharge(const ObjectKey& policy, const Entry& entry) {
  auto oldest = namespaces_.find(policy.ns);
  if (oldest == namespaces_.end()) return;
  oldest->second.Erase({entry.created, policy},
                       [this](const Item& item, size_t of_item, bool fits) {
                         MoveInNamespace(item, of_item, fits);
                       });
  if (oldest->second.empty()) namespaces_.erase(oldest);
}

void Budget::MoveInNamespace(const Item& item, size_t bytes, bool fits) {
  auto set = [this](const Item& moved, size_t, bool in) { Set(moved, in); };
  fits ? total_.Insert(item, bytes, set) : total_.Erase(item, set);
}

void Budget::Set(const Item& item, bool fits) {
  Entry& entry = entries_.at(item.policy);
  if (std::exchange(entry.fits, fits) == fits) return;
  touched_.insert(item.policy);
  size_t& left_out = left_out_[item.policy.ns];
  left_out += fits ? -1 : 1;
  all_left_out_ += fits ? -1 : 1;
  if (left_out == 0) left_out_.erase(item.policy.ns);
}

bool Budget::Fits(const ObjectKey& policy) const {
  auto found = entries_.find(policy);
  return found != entries_.end() && found->second.fits;
}

std::vector<ObjectKey> Budget::TakeChanged() {
  std::vector<ObjectKey> changed;
  for (const ObjectKey& policy : std::exchange(touched_, {})) {
    Entry& entry = entries_.at(policy);
    if (std::exchange(entry.told, entry.fits) != entry.fits) changed.push_back(policy);
  }
  return changed;
}

size_t Budget::LeftOut(const std::string& ns) const {
  if (ns.empty()) return all_left_out_;
  auto found = left_out_.find(ns);
  return found == left_out_.end() ? 0 : found->second;
}

}  // namespace policy
