// SPDX-License-Identifier: Apache-2.0
#include "operator/preferring_namespaces.h"

namespace operator_ {
namespace {

// The times of removals are those of all namespaces.
kube::TimePoint NextCommonTime(kube::TimePoint at) {
  kube::Duration every = PreferringNamespaces::kRemovedEvery;
  kube::Duration over = at.time_since_epoch() % every;
  return over == kube::Duration::zero() ? at : at + (every - over);
}

}  // namespace

bool PreferringNamespaces::Set(Reason reason, const std::string& ns, bool holds) {
  kube::TimePoint now = clock_.Now();
  while (!kept_.empty() && kept_.begin()->first <= now) RemoveFirst();

  auto found = namespaces_.find(ns);
  bool known = found != namespaces_.end();
  if (!known && !holds) return false;
  Namespace& entry = known ? found->second : namespaces_[ns];
  if (holds) {
    entry.reasons.insert(reason);
    if (entry.until) kept_.erase({*entry.until, ns});
    entry.until.reset();
    return !known;
  }
  entry.reasons.erase(reason);
  if (!entry.reasons.empty() || entry.until) return false;
  entry.until = NextCommonTime(now + kKept);
  kept_.emplace(*entry.until, ns);
  if (kept_.size() > kMaxKept) RemoveFirst();
  return false;
}

void PreferringNamespaces::RemoveFirst() {
  namespaces_.erase(kept_.begin()->second);
  kept_.erase(kept_.begin());
}

std::vector<std::string> PreferringNamespaces::List() const {
  kube::TimePoint now = clock_.Now();
  std::vector<std::string> list;
  for (const auto& [ns, entry] : namespaces_) {
    if (!entry.until || now < *entry.until) list.push_back(ns);
  }
  return list;
}

std::optional<kube::TimePoint> PreferringNamespaces::NextRemoval() const {
  auto next = kept_.lower_bound({clock_.Now() + kube::Duration(1), ""});
  if (next == kept_.end()) return std::nullopt;
  return next->first;
}

}  // namespace operator_
