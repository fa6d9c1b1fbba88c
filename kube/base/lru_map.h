// SPDX-License-Identifier: Apache-2.0
// LruMap: a map of bounded size that evicts the least recently used entry.
#pragma once

#include <algorithm>
#include <list>
#include <string>
#include <unordered_map>
#include <utility>

namespace kube {

template <class Value>
class LruMap {
 public:
  explicit LruMap(size_t capacity) : capacity_(capacity) {}

  // nullptr if absent; valid until the next Put() or Erase(). Counts as a use.
  Value* Find(const std::string& key) {
    auto found = entries_.find(key);
    if (found == entries_.end()) return nullptr;
    order_.splice(order_.end(), order_, found->second);
    return &found->second->second;
  }

  void Put(const std::string& key, Value value) {
    Put(key, std::move(value), [](const Value&) { return true; });
  }

  // Put() that only evicts a value for which `evictable` returns true. False if there is none; the
  // map then stays without `key`.
  template <class Evictable>
  bool Put(const std::string& key, Value value, Evictable evictable) {
    Erase(key);
    if (entries_.size() >= capacity_) {
      auto evicted = std::find_if(order_.begin(), order_.end(),
                                  [&](const auto& entry) { return evictable(entry.second); });
      if (evicted == order_.end()) return false;
      entries_.erase(evicted->first);
      order_.erase(evicted);
    }
    order_.emplace_back(key, std::move(value));
    entries_[key] = std::prev(order_.end());
    return true;
  }

  void Erase(const std::string& key) {
    auto found = entries_.find(key);
    if (found == entries_.end()) return;
    order_.erase(found->second);
    entries_.erase(found);
  }

  void Clear() {
    entries_.clear();
    order_.clear();
  }

  size_t size() const { return entries_.size(); }
  size_t capacity() const { return capacity_; }
  // The least recently used key; the map must not be empty.
  const std::string& oldest_key() const { return order_.front().first; }

 private:
  using Order = std::list<std::pair<std::string, Value>>;  // least recently used first

  size_t capacity_;
  Order order_;
  std::unordered_map<std::string, typename Order::iterator> entries_;
};

}  // namespace kube
