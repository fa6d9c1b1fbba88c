// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/fake_history.h"

#include <algorithm>
#include <utility>

namespace kube {

void FakeHistory::Add(FakeChange change) {
  changes_.push_back(std::move(change));
  if (changes_.size() > limit_) Compact(changes_.front().version);
}

void FakeHistory::Compact(uint64_t version) {
  oldest_ = std::max(oldest_, version);
  while (!changes_.empty() && changes_.front().version <= version) changes_.pop_front();
}

void FakeHistory::ForEachAfter(uint64_t version,
                               const std::function<void(const FakeChange&)>& use) const {
  auto first = std::upper_bound(
      changes_.begin(), changes_.end(), version,
      [](uint64_t version, const FakeChange& change) { return version < change.version; });
  for (; first != changes_.end(); ++first) use(*first);
}

void FakeHistory::Rewind(const std::string& collection, uint64_t version,
                         FakeObjects& objects) const {
  for (auto change = changes_.rbegin(); change != changes_.rend(); ++change) {
    if (change->version <= version) return;
    if (change->collection != collection) continue;
    if (change->before) {
      objects.insert_or_assign(change->key, *change->before);
    } else {
      objects.erase(change->key);
    }
  }
}

}  // namespace kube
