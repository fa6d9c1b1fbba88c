// SPDX-License-Identifier: Apache-2.0
#include "kube/controller/event_limiter.h"

namespace kube {
namespace {

constexpr size_t kCapacity = 4096;

}  // namespace

bool EventLimiter::Allow(const ObjectKey& about, std::string_view text) {
  TimePoint now = clock_.Now();
  size_t hash = std::hash<ObjectKey>()(about) * 31 + std::hash<std::string_view>()(text);
  if (allowed_.size() >= kCapacity && !allowed_.contains(hash)) {
    std::erase_if(allowed_, [&](const auto& entry) { return now - entry.second >= interval_; });
    if (allowed_.size() >= kCapacity) allowed_.clear();
  }
  auto [entry, is_new] = allowed_.try_emplace(hash, now);
  if (!is_new && now - entry->second < interval_) return false;
  entry->second = now;
  return true;
}

}  // namespace kube
